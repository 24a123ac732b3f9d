"""Coding pictures for a stream that is watched while it is made: each picture is out at once.

    settings + picture's facts + destination -> LiveRecipe -> a fresh encoder for each connection

No pictures are looked at ahead or coded out of turn, and threads share one picture (slices)
rather than take several. A key frame comes at least every so many seconds, however many pictures
there were meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import msgspec
from av import Packet, VideoCodecContext, VideoFrame
from av.codec.context import ThreadType
from av.container import OutputContainer
from av.video.frame import PictureType
from av.video.stream import VideoStream

from mpflow.errors import ConfigError
from mpflow.media.destination import Destination, Kind
from mpflow.media.encoder import Settings, Shape, choose_shape, encoder_options, find_encoder
from mpflow.media.parameters import check_crf, check_parameters
from mpflow.media.probe import Closeup
from mpflow.media.recipe import Recipe, configure
from mpflow.spec import VideoInfo

_RAW = "rawvideo"
# What keeps each encoder from holding pictures back, and a quality fit for a stream.
_AT_ONCE: dict[str, dict[str, str]] = {
    "libx264": {"tune": "zerolatency", "preset": "veryfast", "crf": "21", "forced-idr": "1"},
    "libx265": {"tune": "zerolatency", "preset": "ultrafast", "crf": "24", "forced-idr": "1"},
    "libvpx": {"deadline": "realtime", "cpu-used": "8", "lag-in-frames": "0", "b": "3M"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8", "lag-in-frames": "0", "b": "3M"},
    "libsvtav1": {"preset": "11", "crf": "35", "svtav1-params": "pred-struct=1"},
    "h264_nvenc": {"preset": "p3", "tune": "ull", "zerolatency": "1", "delay": "0", "cq": "23"},
    "hevc_nvenc": {"preset": "p3", "tune": "ull", "zerolatency": "1", "delay": "0", "cq": "26"},
}
_QUALITY = frozenset({"crf", "cq", "qp"})
_PLAIN = "yuv420p"
"""What every player, browser and camera program takes."""


@dataclass(frozen=True, slots=True)
class LiveSettings:
    """``bitrate`` is the most there may be, in FFmpeg's words (3M); ``gop`` is in seconds."""

    encoder: Settings
    bitrate: str = ""
    gop: float = 2.0


class LiveCoder:
    """An encoder in an output's container, which codes one picture at a time."""

    def __init__(self, stream: VideoStream, gop: int) -> None:
        self._stream = stream
        self._gop = gop
        self._key: int | None = None

    def encode(self, picture: VideoFrame) -> list[Packet[VideoStream]]:
        """Code a picture with its time stamp; the first one, and later each due one, is a key."""
        pts = picture.pts or 0
        if self._key is None or pts - self._key >= self._gop:
            self._key = pts
            picture.pict_type = PictureType.I
        return self._stream.encode(picture)

    def finish(self) -> list[Packet[VideoStream]]:
        """What the encoder kept after all."""
        return self._stream.encode(None)


class LiveRecipe:
    """How the pictures of one job are coded, for as many encoders as there are connections."""

    def __init__(
        self,
        video: VideoInfo,
        settings: LiveSettings,
        destination: Destination,
        say: Callable[[str], None],
    ) -> None:
        """Find out by trying; raises ConfigError for what the encoder or container cannot do."""
        if destination.kind is Kind.DEVICE:
            settings = replace(settings, encoder=Settings(_RAW))
        codec = find_encoder(settings.encoder.codec)
        self._threads = settings.encoder.threads
        self._video = video
        if codec.name != _RAW and not destination.holds(codec.name):
            raise ConfigError(
                f"{destination.container} cannot hold pictures coded by {codec.name}",
                cure="libx264 fits everywhere; matroska holds any",
            )
        options = {} if codec.name == _RAW else _options(settings)
        check_crf(codec.name, options)
        wanted = msgspec.structs.replace(
            video, pixel_format=_format(codec.name, video, destination)
        )
        shape = choose_shape(codec, wanted, options, self._set_up, say)
        if codec.name == _RAW:
            shape = replace(shape, width=_even(shape.width), height=_even(shape.height))
        check_parameters(codec, options, shape, self._set_up)
        self.recipe = Recipe(
            codec,
            video,
            shape,
            options,
            self._threads,
            Closeup(None, {}, interlaced=False, field_order=0),
            destination.container,
            destination.has_global_header,
        )
        self._gop = max(1, round(Fraction(settings.gop) / shape.time_base))

    @property
    def shape(self) -> Shape:
        """How the encoder is given its pictures."""
        return self.recipe.shape

    def add_to(self, container: OutputContainer) -> LiveCoder:
        """A fresh encoder as a container's picture stream."""
        stream = self.recipe.add_picture(container)
        self._hasten(stream.codec_context)
        return LiveCoder(stream, self._gop)

    def _set_up(self, context: VideoCodecContext, shape: Shape) -> None:
        configure(context, shape, self._video, self._threads)
        self._hasten(context)

    def _hasten(self, context: VideoCodecContext) -> None:
        """Let threads share a picture: with one each, as many pictures are under way."""
        context.thread_type = ThreadType.SLICE
        context.max_b_frames = 0


def _options(settings: LiveSettings) -> dict[str, str]:
    """The encoder's options: what was asked, and what keeps it fast where nothing was."""
    encoder = settings.encoder
    asked: dict[str, str] = dict(encoder.options)
    ours = dict(_AT_ONCE.get(encoder.codec, {}))
    if settings.bitrate:
        rate = {"b": settings.bitrate, "maxrate": settings.bitrate, "bufsize": settings.bitrate}
        ours = {key: value for key, value in ours.items() if key not in _QUALITY} | rate
    if encoder.crf is not None:
        ours["crf"] = f"{encoder.crf:g}"
        ours.pop("b", None)
    if encoder.preset is not None:
        ours["preset"] = encoder.preset
    merged: Mapping[str, str] = {**ours, **asked}
    # a codec's own defaults for files are for another purpose: name all that is set here
    plain = Settings(encoder.codec, options=merged, threads=encoder.threads)
    found = encoder_options(find_encoder(encoder.codec), plain, {})
    return {key: value for key, value in found.items() if key in merged}


def _format(codec: str, video: VideoInfo, destination: Destination) -> str:
    """The pixel format to give the encoder: a plain one where others have to play it."""
    live = destination.kind is not Kind.FILE
    return _PLAIN if codec == _RAW or ("264" in codec and live) else video.pixel_format


def _even(side: int) -> int:
    return side + side % 2
