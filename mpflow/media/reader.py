"""Reading an input's pictures in presentation order, whatever state the file is in.

    place -> reading (from the beginning, or from a key frame) -> gate -> one geometry
    -> av.VideoFrame

A packet that cannot be decoded is counted and skipped; so is a stretch of the file that cannot be
demuxed. What went wrong is told once each, in sentences, and in the counters. A place is sought by
the index of the file's packets; where a file is not what its index says, pictures are counted from
the beginning, which is slow and always right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from av import VideoFrame

from mpflow.errors import InputError
from mpflow.media.gate import Gate, gate_at
from mpflow.media.index import Index
from mpflow.media.length import Cut
from mpflow.media.passes import Astray, Pass, checked_index
from mpflow.media.pixels import Conform
from mpflow.media.ranges import ALL_FRAMES, Frames
from mpflow.media.tally import Tally
from mpflow.spec import BEGINNING, MediaInfo, Place, SourceSummary
from mpflow.urls import is_url, shown

# Key frames to begin at, one earlier each time, before pictures are counted: some decoders give
# nothing after a seek until they can trust it, and then the next key frame may be too late.
_TRIES = 3


class VideoReader:
    """Gives the pictures of one input, or those of a range of its frames.

    Every picture has the size and format that ``media.video`` names, and a ``pts`` in its time
    base that is later than the one before. ``warn`` is told each oddity once. Raises ConfigError
    for frames that the input does not have.
    """

    def __init__(
        self,
        path: str,
        media: MediaInfo,
        *,
        threads: int = 0,
        warn: Callable[[str], None] = lambda text: None,
        wanted: Frames = ALL_FRAMES,
    ) -> None:
        self._path = path
        self._media = media
        self._threads = threads
        self.wanted = wanted
        self._tally = Tally(warn)
        self._conform = Conform(media.video)
        self._known_index: Index | None = None
        self._exhausted = False
        self._cut: Cut | None = None
        self._unused = True
        self._pass = self._open()
        if wanted.some:
            wanted.check(path, self._index.frames)

    def __iter__(self) -> Iterator[VideoFrame]:
        return self.pictures()

    def pictures(self, place: Place = BEGINNING) -> Iterator[VideoFrame]:
        """The pictures from a place on, the very ones that reading from the beginning gives there.

        May be called again; what an earlier call returned must not be used any more.
        """
        if self._conform.conversion:
            self._say(self._conform.conversion)
        gate = self._gate(place)
        self._tally.begin(place.frame, gate.low, gate.high, muted=gate.skip > 0)
        if gate.closed():
            return
        for picture in self._admitted(gate):
            self._tally.given(gate.number - 1, corrupt=picture.is_corrupt)
            yield self._conformed(picture)
        if self.wanted.some and not self.frames:
            raise InputError(
                f"{shown(self._path)!r} has no picture that can be read in the range asked for",
                cure="ask for other frames",
            )
        self._look_back()

    def close(self) -> None:
        """Close the file."""
        self._pass.close()

    def summary(self) -> SourceSummary:
        """What was read so far; frames of an earlier run that ended before the place count too."""
        return SourceSummary(
            frames=self.frames,
            damaged=self.damaged,
            expected=self.expected,
            warnings=tuple(self.warnings),
        )

    @property
    def frames(self) -> int:
        """How far the frames came, counted from the first one wanted."""
        return self._tally.frames

    @property
    def warnings(self) -> list[str]:
        """Every oddity so far."""
        return self._tally.warnings

    @property
    def damaged(self) -> int:
        """Packets and pictures that were lost or came out damaged."""
        tally = self._tally
        whole = self._exhausted and not self.wanted.some
        if tally.seen and whole and self._media.video.codec != "vp8":
            return max(tally.seen, tally.packets - tally.frames)
        return tally.seen + tally.broken_stretches + self._cut_somewhere

    @property
    def expected(self) -> int | None:
        """Frames there should be: by the range, by the file's index, by its duration."""
        if self.wanted.some:
            return self.wanted.count(self._index.frames)
        if self._media.video.frames is not None:
            return self._media.video.frames
        if self._cut is not None and self._cut.expected is not None:
            return self._cut.expected
        return self._tally.packets if self._exhausted and self.damaged else None

    @property
    def _index(self) -> Index:
        """The index of the file's packets, read when it is needed first."""
        if self._known_index is None:
            self._known_index = checked_index(self._path, self._media)
            if not self._known_index.clean:
                self._say_counting(self._known_index.why)
        return self._known_index

    def _gate(self, place: Place) -> Gate:
        """What to let through from a place on."""
        if place == BEGINNING and not self.wanted.some:
            return Gate(0)
        return gate_at(place, self._index, self.wanted)

    def _admitted(self, gate: Gate) -> Iterator[VideoFrame]:
        """What the gate lets through of a reading, or of the next one where that went astray."""
        for reading in self._readings(gate):
            try:
                yield from self._let_through(reading, gate)
            except Astray:
                continue
            return

    def _readings(self, gate: Gate) -> Iterator[Iterator[VideoFrame]]:
        """Ways to read on, the fastest first; reading from the beginning is the last."""
        if gate.low is not None:
            rows = list(islice(self._index.keys_until(gate.low), _TRIES))
            for row in rows:
                yield self._renewed().from_key(self._index, row, gate.low)
            if len(rows) == _TRIES or (rows and is_url(self._path)):
                self._say_counting("seeking in it does not come to the same pictures")
        yield self._renewed().from_beginning()

    def _let_through(self, pictures: Iterator[VideoFrame], gate: Gate) -> Iterator[VideoFrame]:
        """The pictures of a reading that are wanted, up to the end of the range or of the file."""
        while not gate.closed():
            picture = next(pictures, None)
            if picture is None:
                self._exhausted = True
                return
            stamp = picture.pts or 0  # a reading stamps every picture
            if gate.closed(stamp):
                return
            if gate.admits(stamp):
                yield picture
            self._tally.muted = gate.skip > 0

    def _open(self) -> Pass:
        return Pass(self._path, self._media, self._tally, threads=self._threads)

    def _renewed(self) -> Pass:
        """A reading that nothing was taken from: the file is opened again, which costs little."""
        if not self._unused:
            self._pass.close()
            self._pass = self._open()
        self._unused = False
        return self._pass

    def _conformed(self, picture: VideoFrame) -> VideoFrame:
        """The picture in the run's geometry."""
        if self._conform.fits(picture):
            return picture
        if change := self._conform.change(picture):
            self._say(change)
        made = self._conform(picture)
        made.pts, made.duration = picture.pts, picture.duration
        return made

    def _look_back(self) -> None:
        """Say what only the end tells: whether the file was cut off, or frames are missing."""
        name, expected, frames = shown(self._path), self.expected, self.frames
        if self._exhausted:
            self._cut = self._pass.length.cut(self.wanted.start + frames)
            expected = self.expected
        is_short = expected is not None and frames < expected
        if is_short and (self._cut is not None or not self.damaged):
            self._say(f"{name!r} ends early: {frames} of {expected} frames could be read")
        elif self._cut is not None and self._media.video.frames is None:
            self._say(f"{name!r} was cut off, {frames} frames read")
        if self.damaged > self._cut_somewhere:
            counts = f"{self.damaged} damaged packets or frames"
            self._say(f"{name!r} is damaged: {counts}, {frames} frames read")
        if self._pass.jumps:
            self._say(f"{name!r} has time stamps that jump back; the parts were joined")

    @property
    def _cut_somewhere(self) -> bool:
        """Whether the file was cut off and nothing tells how many frames it had."""
        unknown = self._media.video.frames is None
        return self._cut is not None and self._cut.expected is None and unknown

    def _say_counting(self, why: str) -> None:
        self._say(
            f"{shown(self._path)!r}: {why}, so places in it are found by counting its pictures"
            " from the beginning, which is slow"
        )

    def _say(self, text: str) -> None:
        self._tally.say(text)


def require_same(path: str, media: MediaInfo) -> None:
    """Raise InputError when a file is no longer the one that was probed."""
    if not is_url(path) and media.size and Path(path).stat().st_size != media.size:
        raise InputError(
            f"{path!r} changed while it was being read", cure="wait until it is written whole"
        )
