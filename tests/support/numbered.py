"""Clips whose every frame shows its own number, in ways that make seeking hard."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import clips
import numpy as np
from clips import Clip

from mpflow.media.pixels import plane_view
from mpflow.media.probe import probe
from mpflow.media.ranges import ALL_FRAMES, Frames
from mpflow.media.reader import VideoReader
from mpflow.spec import BEGINNING, Place

BITS = 8
_BLOCK = 16
SIZE = (BITS * _BLOCK, 32)

# One long group of pictures after another, with B-frames that refer to each other.
LONG_GOP = {"x264-params": "keyint=30:min-keyint=30:scenecut=0:bframes=3:b-pyramid=normal"}
OPEN_GOP = {"x264-params": "keyint=20:min-keyint=20:scenecut=0:bframes=3:open-gop=1"}
REFRESH = {"x264-params": "keyint=20:scenecut=0:intra-refresh=1"}
INTERLACED = {"x264-params": "keyint=24:min-keyint=24:scenecut=0:bframes=3:interlaced=1:tff=1"}
MPEG2 = {"g": "18", "bf": "2", "sc_threshold": "1000000000"}
PAL = {"time_base": Fraction(1, 25), "rate": 25}


def burn(picture: av.VideoFrame, number: int) -> None:
    """Write a number into the upper half of a picture, a bit in every block."""
    luma = plane_view(picture, 0, (), np.dtype("u1"))
    for bit in range(BITS):
        left = bit * _BLOCK
        luma[:16, left : left + _BLOCK] = 235 if number >> bit & 1 else 16


def number_of(picture: av.VideoFrame) -> int:
    """The number that a picture shows."""
    luma = plane_view(picture, 0, (), np.dtype("u1"))
    blocks = luma[4:12].reshape(8, BITS, _BLOCK).mean(axis=(0, 2))
    return sum(1 << bit for bit, light in enumerate(blocks) if light > 125)


def make(path: Path, clip: Clip, **muxer: str) -> Path:
    """Write a numbered clip."""
    clip.size = SIZE
    with av.open(str(path), "w", container_options=muxer) as container:
        stream = clips.add_video(container, clip)
        for number, pts in enumerate(clip.pts):
            picture = clips.noise(clip, number)
            burn(picture, number)
            picture.pts, picture.time_base = pts, clip.time_base
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return path


def _plain(suffix: str, **changes: Any) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        made = {"pts": range(60), "options": LONG_GOP, **changes}
        return make(folder / f"clip.{suffix}", Clip(**made))

    return build


def _edited(folder: Path) -> Path:
    """An mp4 whose edit list hides its first frames, in the middle of a group of pictures."""
    whole = make(folder / "whole.mp4", Clip(pts=range(66), options=LONG_GOP))
    return remux(whole, folder / "clip.mp4", shift=-6)


def _negative(folder: Path) -> Path:
    """A Matroska file whose first time stamps lie before 0."""
    whole = make(folder / "whole.mkv", Clip(pts=range(60), options=MPEG2, codec="mpeg2video"))
    return remux(whole, folder / "clip.mkv", shift=-9, avoid_negative_ts="disabled")


def _headless(suffix: str, unit: int, **changes: Any) -> Callable[[Path], Path]:
    """A recording that begins in the middle of a group of pictures."""

    def build(folder: Path) -> Path:
        whole = _plain(suffix, pts=range(80), **changes)(folder)
        data = whole.read_bytes()
        whole.write_bytes(data[len(data) // 6 // unit * unit :])
        return whole

    return build


def remux(source: Path, target: Path, shift: int, **muxer: str) -> Path:
    """Copy a clip's packets with their time stamps moved by so many frames."""
    with av.open(str(source)) as read, av.open(str(target), "w", container_options=muxer) as write:
        stream = read.streams.video[0]
        out = write.add_stream_from_template(stream)
        ticks = round(shift / (stream.average_rate * stream.time_base))
        for packet in read.demux(stream):
            if packet.size:
                packet.pts += ticks
                packet.dts = None if packet.dts is None else packet.dts + ticks
                packet.stream = out
                write.mux_one(packet)
    return target


_VARIABLE = [n * 512 for n in range(30)] + [30 * 512 + n * 1024 for n in range(30)]
_M2 = {"codec": "mpeg2video", "options": MPEG2, **PAL}

KINDS: dict[str, Callable[[Path], Path]] = {
    "mp4": _plain("mp4"),
    "mov": _plain("mov"),
    "mkv": _plain("mkv"),
    "ts": _plain("ts"),
    "flv": _plain("flv"),
    "mpg": _plain("mpg", **_M2),
    "mpeg2 ts": _plain("ts", **_M2),
    "mpeg2 mkv": _plain("mkv", **_M2),
    "avi": _plain("avi", options={"x264-params": "keyint=15:bframes=0:scenecut=0"}),
    "avi of key frames": _plain("avi", codec="mjpeg", pixel_format="yuvj420p", options={}),
    "mpeg4 mp4": _plain("mp4", codec="mpeg4", options={"g": "15", "bf": "2"}),
    "vp8 webm": _plain("webm", codec="libvpx", options={"g": "25", "lag-in-frames": "16"}),
    "vp9 webm": _plain("webm", codec="libvpx-vp9", options={"g": "25", "lag-in-frames": "16"}),
    "open gop ts": _plain("ts", options=OPEN_GOP),
    "open gop mp4": _plain("mp4", options=OPEN_GOP),
    "interlaced ts": _plain("ts", options=INTERLACED),
    "interlaced mkv": _plain("mkv", options=INTERLACED),
    "intra refresh ts": _plain("ts", options=REFRESH),
    "variable rate mp4": _plain("mp4", pts=_VARIABLE, time_base=Fraction(1, 15360)),
    "variable rate mkv": _plain("mkv", pts=_VARIABLE, time_base=Fraction(1, 15360)),
    "mp4 with edit list": _edited,
    "mkv that starts before 0": _negative,
    "ts without its head": _headless("ts", 188, options=OPEN_GOP),
    "mpg without its head": _headless("mpg", 2048, **_M2),
    "mpeg2 ts without its head": _headless("ts", 188, **_M2),
}
"""Kinds of input by name, each with 60 frames (fewer where the head is missing)."""

COUNTED: dict[str, Callable[[Path], Path]] = {
    "avi with B-frames": _plain("avi"),
    "mpeg4 avi with B-frames": _plain("avi", codec="mpeg4", options={"g": "15", "bf": "2"}),
    "raw h264": _plain("h264"),
}
"""Kinds whose time stamps find no frame."""

Row = tuple[int | None, int | None, bool, str]


def rows(pictures: Iterable[av.VideoFrame]) -> list[Row]:
    """Time stamp, duration, key frame or not, and a hash of the pixels of each picture."""
    found = []
    for picture in pictures:
        hashed = hashlib.sha1(usedforsecurity=False)
        for index in range(len(picture.planes)):
            hashed.update(plane_view(picture, index, (), np.dtype("u1")).copy())
        found.append((picture.pts, picture.duration, picture.key_frame, hashed.hexdigest()))
    return found


def reader(
    path: Path | str,
    wanted: Frames = ALL_FRAMES,
    threads: int = 1,
    warnings: list[str] | None = None,
) -> VideoReader:
    """A reader of a clip."""
    said = [] if warnings is None else warnings
    media = probe(str(path))
    return VideoReader(str(path), media, threads=threads, warn=said.append, wanted=wanted)


def read(
    path: Path, place: Place = BEGINNING, wanted: Frames = ALL_FRAMES, threads: int = 1
) -> list[Row]:
    """What a fresh reader gives from a place on."""
    opened = reader(path, wanted, threads)
    try:
        return rows(opened.pictures(place))
    finally:
        opened.close()
