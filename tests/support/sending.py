"""A live output fed as a pipeline would feed it: pictures late, sound at once, all in real time."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import av
import numpy as np
from clips import Memory

from mpflow.colour import Colour
from mpflow.frame import Frame, PictureLayout
from mpflow.media.sound import SoundSender
from mpflow.spec import Job, JobSpec, MediaInfo, SinkSummary, StreamInfo, VideoInfo
from mpflow.stage import StageContext
from mpflow.stages.send import Send, SendOptions
from mpflow.tokens import Token

RATE = 30
TICKS = 90_000
SOUND_RATE = 48_000
START_S = 5
"""Where the time line begins: a stream that was entered in the middle."""


@dataclass
class Feed:
    """A send stage with everything it tells. Each second begins with a white picture and a tone."""

    output: str
    options: dict[str, Any] = field(default_factory=dict)
    size: tuple[int, int] = (96, 64)
    sound: str = ""
    late: float = 0.2
    partial: str = ""
    resume: bool = False
    leaving: bool = False
    warnings: list[str] = field(default_factory=list)
    alerts: list[tuple[str, str]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    taken_back: list[int] = field(default_factory=list)
    longest: float = 0.0

    def __post_init__(self) -> None:
        video = VideoInfo(0, "h264", *self.size, "yuv420p", "yuv420p", (1, TICKS), (RATE, 1))
        streams = [StreamInfo(0, "video", "h264")]
        if self.sound:
            streams.append(StreamInfo(1, "audio", self.sound))
        self.media = MediaInfo("feed", "flv", video, tuple(streams))
        self.layout = PictureLayout.of("yuv420p", *self.size)
        context = StageContext(
            "send",
            threads=2,
            warn=self.warnings.append,
            alert=lambda kind, text: self.alerts.append((kind, text)),
            count=self._count,
            leaving=lambda: self.leaving,
        )
        self.stage = Send(SendOptions(**self.options), context)
        self.stage.recant = lambda token, why: self.taken_back.append(token.seq)
        self.started = 0.0
        self._packets: list[Any] = []

    def _count(self, counter: str, more: int) -> None:
        self.counts[counter] = self.counts.get(counter, 0) + more

    @contextmanager
    def running(self) -> Iterator[Feed]:
        """Begun, and closed at the end whatever happens."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, theirs:
            self.sender = SoundSender(ours.fileno())
            spec = JobSpec(
                "1", "feed", self.output, partial=self.partial, resume=self.resume, live=True
            )
            try:
                self.stage.begin(Job(spec, self.media, theirs.fileno()))
                self.started = time.monotonic()
                yield self
            finally:
                self.stage.close()
                self.sender.close()

    def send(
        self, seconds: float, *, begin: float = 0.0, drop: Callable[[int], bool] = bool
    ) -> None:
        """Feed pictures and sound for so long; ``drop`` tells which pictures never arrive."""
        pictures = [
            (n / RATE + self.late, 1, n)
            for n in range(round(begin * RATE), round((begin + seconds) * RATE))
            if not (drop is not bool and drop(n))
        ]
        sounds = [(at, 0, packet) for at, packet in self._sounds(begin + seconds) if at >= begin]
        for due, kind, what in sorted([*pictures, *sounds], key=lambda event: event[:2]):
            self._wait(due)
            if kind:
                self.picture(what)
            else:
                self.sender.send(what, pts=what.pts, dts=what.pts)
                self.stage.rest()

    def rest(self, begin: float, until: float) -> None:
        """No pictures come, but sound does, between two moments of the feed."""
        self.send(until - begin, begin=begin, drop=lambda _: True)

    def picture(self, number: int) -> None:
        frame = Frame(self.layout, Memory(self.layout.nbytes), Colour.from_tags(self.media.video))
        for plane, value in zip(frame.fill_planes(), (16, 128, 128), strict=True):
            plane[...] = 235 if value == 16 and number % RATE == 0 else value
        pts = (START_S * RATE + number) * TICKS // RATE
        born = time.monotonic_ns() - round(self.late * 1e9)
        token = Token("1", number, pts=pts, time_base=(1, TICKS), duration=TICKS // RATE, born=born)
        start = time.monotonic()
        self.stage.write(token, frame)
        self.longest = max(self.longest, time.monotonic() - start)
        frame.end()

    def finish(self) -> SinkSummary:
        return self.stage.finish(complete=True)

    @property
    def now(self) -> float:
        return time.monotonic() - self.started

    def change_sound(self, codec: str) -> None:
        """The input goes on with other sound, as after a new connection."""
        self.sound = codec
        self._packets = []

    def _wait(self, due: float) -> None:
        """Until a moment of the feed: it is paced like a camera."""
        while (left := due - self.now) > 0:
            time.sleep(left)

    def _sounds(self, seconds: float) -> list[tuple[float, Any]]:
        if not self.sound:
            return []
        if not self._packets:
            self._file = av.open(tones(self.sound, 30))
            stream = self._file.streams.audio[0]
            self.sender.describe(stream)
            self._packets = [packet for packet in self._file.demux(stream) if packet.size]
        found = []
        for packet in self._packets:
            at = float(packet.pts * packet.time_base) - START_S
            if 0 <= at < seconds:
                found.append((at, packet))
        return found


def tones(codec: str, seconds: int) -> io.BytesIO:
    """Sound that beeps for 50 ms at each whole second, from ``START_S`` on."""
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as out:
        stream: Any = out.add_stream(codec, rate=SOUND_RATE)
        stream.codec_context.layout = "stereo"
        stream.codec_context.open()
        size = stream.codec_context.frame_size or 960
        resampler = av.AudioResampler(stream.codec_context.format.name, "stereo", SOUND_RATE)
        wave = (np.sin(np.arange(2400) / SOUND_RATE * 2 * np.pi * 1000) * 20_000).astype("int16")
        whole = np.zeros(seconds * SOUND_RATE, "int16")
        for second in range(seconds):
            whole[second * SOUND_RATE : second * SOUND_RATE + wave.size] = wave
        for start in range(0, whole.size - size, size):
            piece = np.repeat(whole[start : start + size], 2)[None, :]
            frame = av.AudioFrame.from_ndarray(piece, format="s16", layout="stereo")
            frame.sample_rate, frame.pts = SOUND_RATE, start
            frame.time_base = Fraction(1, SOUND_RATE)
            for fitting in resampler.resample(frame):
                out.mux(stream.encode(fitting))
        out.mux(stream.encode(None))
    file.seek(0)
    return file
