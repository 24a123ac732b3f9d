"""Small clips made on the spot, a decode-to-encode run in this process, and reading things back."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.subtitles.subtitle import SubtitleSet

from mpflow.colour import Colour
from mpflow.frame import Frame, PictureLayout
from mpflow.media.pixels import plane_view
from mpflow.media.probe import probe
from mpflow.spec import JobSpec, SinkSummary, SourceSummary
from mpflow.stage import Job, StageContext
from mpflow.stages.decode import Decode, DecodeOptions
from mpflow.stages.encode import Encode, EncodeOptions
from mpflow.tokens import Token

ASS_HEADER = (
    b"[Script Info]\r\nScriptType: v4.00+\r\n\r\n[V4+ Styles]\r\nFormat: Name, Fontname, Fontsize,"
    b" PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline,"
    b" StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment,"
    b" MarginL, MarginR, MarginV, Encoding\r\nStyle: Default,Arial,16,&Hffffff,&Hffffff,&H0,&H0,"
    b"0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,0\r\n\r\n[Events]\r\nFormat: Layer, Start, End, Style,"
    b" Name, MarginL, MarginR, MarginV, Effect, Text\r\n"
)


@dataclass
class Clip:
    """How a clip's picture track is made; ``pts`` in ticks of ``time_base``."""

    pts: Sequence[int] = tuple(range(30))
    time_base: Fraction = Fraction(1, 30)
    size: tuple[int, int] = (64, 48)
    pixel_format: str = "yuv420p"
    codec: str = "libx264"
    options: dict[str, str] = field(default_factory=dict)
    rotation: int | None = None
    colour: tuple[int, int, int, int] = (0, 2, 2, 2)  # range, primaries, transfer, matrix
    sample_aspect: Fraction | None = None
    rate: int | Fraction = 30


def noise(clip: Clip, number: int) -> av.VideoFrame:
    """Frame ``number`` of a clip: smooth noise that moves, the same in every run."""
    picture = av.VideoFrame(*clip.size, clip.pixel_format)
    deep = "10" in clip.pixel_format
    dtype = np.dtype("<u2" if deep else "u1")
    for index, plane in enumerate(picture.planes):
        rng = np.random.default_rng(index)
        rows, columns = plane.height, plane.width
        coarse = rng.integers(16, 224, (rows // 8 + 2, columns // 8 + 2))
        fine = np.kron(coarse, np.ones((8, 8), int))[:rows, :columns]
        moved = np.roll(fine + rng.integers(0, 8, fine.shape), number, axis=1)
        plane_view(picture, index, (), dtype)[...] = moved * 4 if deep else moved
    return picture


def add_video(container: Any, clip: Clip) -> Any:
    """The clip's picture stream, set up but still empty."""
    stream = container.add_stream(clip.codec, rate=clip.rate, options=clip.options)
    stream.width, stream.height = clip.size
    stream.pix_fmt = clip.pixel_format
    context = stream.codec_context
    context.time_base = clip.time_base
    stream.time_base = clip.time_base
    context.color_range, context.color_primaries, context.color_trc, context.colorspace = (
        clip.colour
    )
    if clip.sample_aspect:
        context.sample_aspect_ratio = clip.sample_aspect
    if clip.rotation is not None:
        stream.set_display_rotation(clip.rotation)
    return stream


def fill_video(container: Any, stream: Any, clip: Clip) -> None:
    """Encode every frame of a clip."""
    for number, pts in enumerate(clip.pts):
        picture = noise(clip, number)
        picture.pts, picture.time_base = pts, clip.time_base
        container.mux(stream.encode(picture))
    container.mux(stream.encode(None))


def make(path: Path, clip: Clip | None = None, **muxer: str) -> Path:
    """Write a clip with one picture track."""
    clip = clip or Clip()
    if path.suffix in (".mp4", ".mov"):
        muxer.setdefault("movie_timescale", str(clip.time_base.denominator))
    with av.open(str(path), "w", container_options=muxer) as container:
        fill_video(container, add_video(container, clip), clip)
    return path


def make_rich(path: Path, clip: Clip | None = None) -> Path:
    """A clip with a second picture track, cover art (mkv), two sound tracks, text, files, chapters
    and tags that tell of people and places.
    """
    clip = clip or Clip(pts=range(50), time_base=Fraction(1, 25), rate=25)
    mkv = path.suffix == ".mkv"
    muxer = {} if mkv else {"movflags": "use_metadata_tags"}
    with av.open(str(path), "w", container_options=muxer) as container:
        container.metadata.update(
            {
                "title": "A film",
                "artist": "Jane Doe",
                "location": "+48.1+011.5/",
                "com.apple.quicktime.make": "Camera",
                "creation_time": "2020-01-01T00:00:00Z",
            }
        )
        picture = add_video(container, clip)
        second = Clip(pts=clip.pts, time_base=clip.time_base, size=(32, 32), rate=clip.rate)
        further = add_video(container, second)
        sounds = [container.add_stream("aac", rate=48000) for _ in range(2)]
        for sound, language in zip(sounds, ("eng", "deu"), strict=True):
            sound.metadata["language"] = language
        text = container.add_stream("subrip" if mkv else "mov_text")
        text.metadata["language"] = "fra"
        text.time_base = text.codec_context.time_base = Fraction(1, 1000)
        text.codec_context.subtitle_header = ASS_HEADER
        if mkv:
            container.add_attachment("font.ttf", "application/x-truetype-font", b"font" * 9)
            container.add_attachment("note.txt", "text/plain", b"made by Jane Doe")
            container.add_attachment("cover.png", "image/png", png())
        container.set_chapters(
            [chapter(1, 0, 1000, "one"), chapter(2, 1000, 2000, "two")],
        )
        container.start_encoding()
        _fill_text(container, text)
        for number, sound in enumerate(sounds):
            fill_sound(container, sound, number)
        fill_video(container, picture, clip)
        fill_video(container, further, second)
    return path


def chapter(number: int, start: int, end: int, title: str) -> Any:
    """A chapter, in milliseconds."""
    return {
        "id": number,
        "start": start,
        "end": end,
        "time_base": Fraction(1, 1000),
        "metadata": {"title": title},
    }


def png() -> bytes:
    """A picture of 16 by 16 pixels as a PNG file."""
    context = av.CodecContext.create("png", "w")
    context.width = context.height = 16
    context.pix_fmt, context.time_base = "rgb24", Fraction(1)
    picture = av.VideoFrame.from_ndarray(np.full((16, 16, 3), 77, np.uint8), "rgb24")
    picture.pts = 0
    return b"".join(bytes(p) for p in (*context.encode(picture), *context.encode(None)))


def _fill_text(container: Any, stream: Any) -> None:
    for start, words in ((200, b"Hello <i>you</i>"), (1200, b"A second line")):
        line = SubtitleSet.create(b"0,0,Default,,0,0,0,," + words, 0, 700, start)
        packet = stream.codec_context.encode_subtitle(line)
        packet.stream, packet.time_base = stream, Fraction(1, 1000)
        packet.pts = packet.dts = start
        packet.duration = 700
        container.mux(packet)


def fill_sound(container: Any, stream: Any, seed: int, blocks: int = 90, first: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for block in range(first, first + blocks):
        samples = (rng.standard_normal((2, 1024)) * 0.1).astype(np.float32)
        frame = av.AudioFrame.from_ndarray(samples, "fltp", "stereo")
        frame.sample_rate, frame.pts, frame.time_base = 48000, block * 1024, Fraction(1, 48000)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


class Memory:
    """Stands in for a slot's lease: the pixels of one frame in ordinary memory."""

    def __init__(self, size: int) -> None:
        self.exporter = (ctypes.c_ubyte * size)()

    def view(self, offset, shape, strides, dtype, writable):
        view = np.ndarray(shape, dtype, self.exporter, offset, strides)
        view.flags.writeable = writable
        return view


@dataclass
class Result:
    """What a run gave: both summaries and every warning."""

    source: SourceSummary
    sink: SinkSummary
    warnings: list[str]


def decoded(path: Path, threads: int = 1) -> tuple[Iterator[Any], Decode, Job, list[str]]:
    """A decode stage opened on a file, and its pictures."""
    warnings: list[str] = []
    stage = Decode(DecodeOptions(), StageContext("decode", threads=threads, warn=warnings.append))
    spec = JobSpec("job", str(path))
    job = Job(spec, stage.probe(spec))
    stage.begin(job)
    return stage.pictures(), stage, job, warnings


def convert(
    source: Path,
    output: Path,
    *,
    overwrite: bool = False,
    stop_after: int | None = None,
    edit: Any = None,
    threads: int = 2,
    **options: Any,
) -> Result:
    """Decode a file and encode it again, frame by frame, in this process."""
    pictures, decode, job, warnings = decoded(source, threads)
    job = Job(JobSpec("job", str(source), str(output), overwrite=overwrite), job.media)
    context = StageContext("encode", threads=threads, warn=warnings.append)
    encode = Encode(EncodeOptions(**options), context)
    video = job.media.video
    layout = PictureLayout.of(video.pixel_format, video.width, video.height)
    try:
        encode.begin(job)
        for number, picture in enumerate(pictures):
            if number == stop_after:
                break
            frame = Frame(layout, Memory(layout.nbytes), Colour.from_tags(video))
            picture.fill(frame)
            encode.write(token(picture, number), frame)
        sink = encode.finish(complete=stop_after is None)
    finally:
        encode.close()
        summary = decode.end()
    return Result(summary, sink, warnings)


def token(picture: Any, number: int) -> Token:
    """The token a runner would make for a picture."""
    return Token(
        "job",
        number,
        pts=picture.pts,
        time_base=picture.time_base,
        duration=picture.duration,
    )


def times(path: Path) -> list[Fraction]:
    """Presentation times of all pictures, in seconds, exact."""
    info = probe(str(path))
    with av.open(str(path)) as container:
        stream = container.streams[info.video.index]
        return [frame.pts * stream.time_base for frame in container.decode(stream)]


def planes(path: Path) -> list[list[np.ndarray]]:
    """All pictures' planes, read by FFmpeg directly."""
    found = []
    with av.open(str(path)) as container:
        for picture in container.decode(video=0):
            dtype = np.dtype("<u2" if "10" in picture.format.name else "u1")
            count = len(picture.planes)
            found.append([plane_view(picture, i, (), dtype).copy() for i in range(count)])
    return found


def packets(path: Path, index: int) -> list[tuple[Fraction | None, Fraction | None, bytes]]:
    """Time, decoding time and payload of every packet of one stream."""
    with av.open(str(path)) as container:
        stream = container.streams[index]
        base = stream.time_base
        return [
            (
                None if p.pts is None else p.pts * base,
                None if p.dts is None else p.dts * base,
                bytes(p),
            )
            for p in container.demux(stream)
            if p.size
        ]
