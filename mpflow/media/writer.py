"""Writing the output: pictures encoded from the ring, everything else copied beside them.

    frame.export -> VideoFrame over the same memory -> encoder -> muxer -> NAME.partial.EXT
                                                       copy ---^             finish -> NAME.EXT

What was written when a run is killed or the disk is full stays under the partial name if it plays.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

import av
from av import Packet
from av.video.stream import VideoStream

from mpflow.errors import InternalError
from mpflow.frame import Frame
from mpflow.media.encoder import Settings, find_encoder
from mpflow.media.opening import Keep, Opened, Opening
from mpflow.media.output import OutputFile, explain_write
from mpflow.media.salvage import playable
from mpflow.spec import JobSpec, MediaInfo, SinkSummary
from mpflow.tokens import Token

_FROM_ZERO = frozenset({"mpegts", "flv", "mpeg", "vob", "svcd"})


class MediaWriter:
    """One output file, from its partial name to its final one."""

    def __init__(
        self,
        job: JobSpec,
        media: MediaInfo,
        settings: Settings,
        keep: Keep,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.warnings: list[str] = []
        self._warn = warn
        self._media = media
        self._settings = settings
        self._keep = keep
        self._file = OutputFile(job)
        self._input = job.input
        self._open: Opened | None = None
        self._written = 0
        self._done: SinkSummary | None = None

    def open(self) -> None:
        """Check everything, open encoder and muxer, write the header. Raises ConfigError,
        OutputError, InputError or ResourceError; nothing is left behind then.
        """
        codec = find_encoder(self._settings.codec)
        self._file.prepare()
        try:
            opening = Opening(self._media, self._settings, self._keep, self._say)
            self._open = opening.open(self._file, self._input, codec)
        except BaseException:
            self._file.abandon()
            raise

    def write(self, token: Token, frame: Frame) -> None:
        """Encode one frame; the copied streams follow up to the same time."""
        state = self._opened()
        picture = state.pictures(frame)
        base = Fraction(*token.time_base)
        encoder_base = state.stream.codec_context.time_base
        pts = None if token.pts is None else round(token.pts * base / encoder_base)
        picture.pts = state.stamps.next(pts, 0)
        picture.time_base = encoder_base
        state.durations[picture.pts] = round(token.duration * base / encoder_base)
        try:
            self._mux(state, state.stream.encode(picture))
        except (av.FFmpegError, OSError) as error:
            raise explain_write(self._file, error) from error

    def finish(self, *, complete: bool) -> SinkSummary:
        """Close the file properly; a complete one gets its final name. Safe to call again."""
        if self._done is None:
            self._done = self._finish(complete=complete)
        return self._done

    def close(self) -> None:
        """Let go of the file, whatever happened; what can be played is kept under its partial
        name.
        """
        if self._open is not None:
            self.finish(complete=False)

    def _finish(self, *, complete: bool) -> SinkSummary:
        state, self._open = self._opened(), None
        try:
            self._mux(state, state.stream.encode(None))
            if complete:
                state.copy.drain(state.container)
            state.container.close()
        except (av.FFmpegError, OSError) as error:
            self._done = self._salvage(state)
            if complete:
                raise explain_write(self._file, error) from error
            return self._done
        finally:
            state.copy.close()
        if not self._written:
            self._file.discard()
            return self._summary(complete=False, playable_frames=0)
        if not complete:
            return self._partial_summary()
        size = self._file.commit()
        return SinkSummary(
            frames=self._written,
            path=str(self._file.final),
            size=size,
            warnings=tuple(self.warnings),
        )

    def _salvage(self, state: Opened) -> SinkSummary:
        """Close a file that could not be written any further, and keep it if it plays."""
        with suppress(av.FFmpegError, OSError):  # the first error is the one that counts
            state.container.close()
        return self._partial_summary()

    def _partial_summary(self) -> SinkSummary:
        frames = playable(self._file.partial)
        if frames:
            self._file.release()
        else:
            self._file.discard()
        return self._summary(complete=False, playable_frames=frames)

    def _summary(self, *, complete: bool, playable_frames: int) -> SinkSummary:
        path = self._file.partial
        return SinkSummary(
            frames=playable_frames,
            path=str(path) if playable_frames else "",
            size=path.stat().st_size if playable_frames else 0,
            complete=complete,
            playable=bool(playable_frames),
            warnings=tuple(self.warnings),
        )

    def _mux(self, state: Opened, packets: list[Packet[VideoStream]]) -> None:
        for packet in packets:
            if packet.pts is not None:
                duration = state.durations.pop(packet.pts, 0)
                packet.duration = duration or state.stamps.step
            if not self._written:
                self._say_shift(state, packet)
            until = (packet.dts if packet.dts is not None else 0) * packet.time_base
            state.container.mux_one(packet)
            self._written += 1
            state.copy.pump(state.container, until)

    def _say_shift(self, state: Opened, first: Packet[VideoStream]) -> None:
        """Say that a container without times before 0 moves everything by the encoder's delay."""
        name = state.container.format.name
        if name in _FROM_ZERO and first.dts is not None and first.dts < 0:
            delay = float(-first.dts * first.time_base)
            self._say(f"{name} has no times before 0: everything is moved by {delay:.3f} s")

    def _opened(self) -> Opened:
        if self._open is None:
            raise InternalError("the output is not open")
        return self._open

    def _say(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
            self._warn(text)
