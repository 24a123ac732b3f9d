"""The source of live runs: a camera, a stream from the network, or a file played as if it were one.

It never ends by itself while the input may come back: lost, ended or silent, it is connected again
within ``retry`` seconds. Pictures keep one time line over all of it, and sound goes with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from mpflow.spec import BEGINNING, JobSpec, MediaInfo, Place, SourceSummary
from mpflow.stage import Job, Options, Picture, Source

if TYPE_CHECKING:  # see mpflow.stage
    from av import VideoFrame

    from mpflow.frame import Frame
    from mpflow.media.liveinput import LiveInput

Seconds = Annotated[float, msgspec.Meta(ge=0)]


class ReceiveOptions(Options, frozen=True):
    """How a live input is read, and for how long it may be away.

    ``retry``: seconds for which a lost input is connected again, .inf for ever, 0 never; ``listen``
    waits for a sender to connect (rtmp, rtsp, tcp, http); ``open_timeout`` and ``read_timeout``:
    seconds that a connection and a packet may take; ``listen_timeout``: seconds to wait for the
    first sender; ``transport`` of rtsp; ``format`` of what names itself badly, ``mpegts`` say;
    ``insecure`` checks no certificate, ``ca_file`` names those that are trusted; ``loop`` plays a
    file again and again; ``audio`` takes sound along; ``max_lag``: seconds that decoding may be
    behind before pictures are left out; ``input_options`` go to FFmpeg as they are (``video_size``
    of a camera); ``threads`` of the decoder, 0 for what the pipeline allows this worker.
    """

    retry: Seconds = 30.0
    listen: bool = False
    open_timeout: Annotated[float, msgspec.Meta(gt=0)] = 10.0
    read_timeout: Annotated[float, msgspec.Meta(gt=0)] = 5.0
    listen_timeout: Annotated[float, msgspec.Meta(gt=0)] = 60.0
    transport: Literal["tcp", "udp"] = "tcp"
    format: str = ""
    insecure: bool = False
    ca_file: str = ""
    loop: bool = False
    audio: bool = True
    max_lag: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    input_options: dict[str, str] = msgspec.field(default_factory=dict)
    threads: Annotated[int, msgspec.Meta(ge=0)] = 0


class Receive(Source[ReceiveOptions]):
    """Reads rtsp, rtmp, udp, tcp, http, a Video4Linux device, or a file by its own clock."""

    Options: ClassVar[type[Options]] = ReceiveOptions
    live: ClassVar[bool] = True
    advice = "a smaller picture from the camera or a faster machine would help"
    _input: LiveInput | None = None
    _media: MediaInfo | None = None
    _resumed = False
    _sound = -1

    def probe(self, job: JobSpec) -> MediaInfo:
        """Connect and look at what comes; the connection stays open for ``begin``.

        Raises InputError, and ConfigError for an address that cannot be read.
        """
        self.close()
        self._input = live = self._make(job.input)
        if live.address.listens:
            seconds = self.options.listen_timeout
            self.context.log.info(
                "listening on %s; waiting %g s for its sender", live.address.shown, seconds
            )
        return live.probe()

    def begin(self, job: Job) -> None:
        """Go on with what ``probe`` found; a worker in the place of another connects anew."""
        if self._input is None or self._input.address.given != job.spec.input:
            self.close()
            self._input, self._resumed = self._make(job.spec.input), True
        self._media = job.media
        self._sound = job.sound if self.options.audio else -1
        self.context.report("decoder", job.media.video.codec)

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        """Every picture from now on: nothing of a live input can be asked for again."""
        live, media = self._input, self._media
        if live is None or media is None:
            return
        if self._resumed:
            live.resume(media, place.after)
            self._resumed = False
        for given in live.pictures(self._sound):
            picture = given.picture
            yield Picture(
                pts=picture.pts,
                time_base=media.video.time_base,
                duration=picture.duration,
                key=picture.key_frame,
                fill=partial(_fill, picture),
                arrived=given.arrived,
            )

    @property
    def damaged(self) -> int:
        """Packets and pictures that were damaged so far."""
        return self._input.damaged if self._input is not None else 0

    def end(self) -> SourceSummary:
        """Hang up and say what was read."""
        live = self._input
        if live is None:
            return SourceSummary(frames=0)
        self.close()
        return SourceSummary(
            frames=0, damaged=live.damaged, missed=live.missed, warnings=tuple(live.warnings)
        )

    def close(self) -> None:
        """Hang up."""
        if self._input is not None:
            self._input.close()
            self._input = None

    def _make(self, given: str) -> LiveInput:
        from mpflow.media.address import Address, Wishes
        from mpflow.media.liveinput import LiveInput
        from mpflow.media.patience import Patience

        options = self.options
        wishes = Wishes(
            listen=options.listen,
            transport=options.transport,
            format=options.format,
            insecure=options.insecure,
            ca_file=options.ca_file,
            options=options.input_options,
        )
        address = Address.of(given, wishes)
        opening = options.listen_timeout if address.listens else options.open_timeout
        patience = Patience(opening, options.read_timeout, options.retry, options.max_lag)
        threads = options.threads or self.context.threads
        return LiveInput(address, patience, self.context, threads=threads, loop=options.loop)


def _fill(picture: VideoFrame, frame: Frame) -> None:
    from mpflow.media.pixels import copy_planes

    copy_planes(picture, frame.fill_planes())
