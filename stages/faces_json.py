"""A sink without video: the faces of every frame as JSON lines.

    {"frame": 0, "pts": 0, "time": 0.0, "state": "live", "faces": [{"box": [x1, y1, x2, y2],
     "score": 0.9, "points": [[x, y], ...]}]}

Boxes and points are pixels of the whole frame, ``time`` is in seconds, ``pts`` in ticks of the
stream's time base.
"""

from __future__ import annotations

import sys
from io import BufferedWriter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import msgspec

from mpflow.errors import InternalError, OutputError, ReaderGone, Refused
from mpflow.spec import BEGINNING, STDOUT, Place, SinkSummary
from mpflow.stage import Job, Options, Sink
from mpflow.tokens import Face, Sighting, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.media.lines import FrameLines


class FacesJsonOptions(Options, frozen=True):
    """``digits`` after the decimal point of boxes, points and scores."""

    digits: int = 3


class FacesJson(Sink[FacesJsonOptions]):
    """Writes one line a frame, to a file (under its partial name until whole) or to ``-``.

    ``-`` is the caller's standard output: a worker's own is a log, so the job's ``partial`` says
    where the caller's can be opened. A run can go on with a file, not with standard output.
    """

    Options: ClassVar[type[Options]] = FacesJsonOptions
    suffix: ClassVar[str] = ".jsonl"
    shows_pixels = False
    advice = "a faster disk would help"
    restartable = True
    needs = ("faces",)
    _file: FrameLines | None = None
    _stream: BufferedWriter | BinaryIO | None = None
    _frames = 0
    _eager = False

    @property
    def kept(self) -> Place:
        """The first frame that is not durable, and the time stamp of the one before it."""
        return self._file.kept if self._file is not None else BEGINNING

    def begin(self, job: Job) -> None:
        """Open the output, or go on with it; raises OutputError, ResourceError or Refused."""
        from mpflow.media.lines import FrameLines

        self.close()
        self._frames = 0
        self._eager = job.spec.live  # whoever reads a stream's faces wants them now
        self.restartable = job.spec.output not in ("", STDOUT)
        if not self.restartable:
            if job.spec.resume:
                raise Refused(
                    "nobody can go on with what was written to standard output",
                    cure="write a file with -o",
                )
            self._stream = _open_stdout(job.spec.partial)
            return
        file = FrameLines(job, {"lines": {"digits": self.options.digits}}, self._tell)
        file.open()
        self._file = file

    def write(self, token: Token, frame: Frame) -> None:
        """Write the faces in the frame's token; the pixels are not looked at."""
        line = msgspec.json.encode(self._line(token)) + b"\n"
        if self._file is not None:
            self._file.add(token.seq, token.pts, line)
        elif self._stream is not None:
            try:
                self._stream.write(line)
                if self._eager:
                    self._stream.flush()
            except OSError as error:
                raise _unwritable(error) from error
            self._frames += 1
        else:
            raise InternalError("faces_json was used before begin")

    def finish(self, *, complete: bool) -> SinkSummary:
        """Close the file; a complete one gets its final name."""
        if self._file is not None:
            return self._file.finish(complete=complete)
        stream, self._stream = self._stream, None
        if stream is not None:
            try:
                stream.flush()
            except OSError as error:
                raise _unwritable(error) from error
            if stream is not sys.stdout.buffer:
                stream.close()
        return SinkSummary(frames=self._frames, path=STDOUT, complete=complete)

    def close(self) -> None:
        """Close a file that was not finished."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
        elif self._stream is not None:
            self.finish(complete=False)

    def _tell(self, stop: int) -> None:
        if self.before_keeping is not None:
            self.before_keeping(stop)

    def _line(self, token: Token) -> dict[str, Any]:
        return {
            "frame": token.seq,
            "pts": token.pts,
            "time": token.time,
            "state": str(token.state),
            "faces": [self._face(face) for face in token.faces],
        }

    def _face(self, face: Face) -> dict[str, Any]:
        digits = self.options.digits
        line: dict[str, Any] = {
            "box": [round(side, digits) for side in face.box],
            "score": round(face.score, digits),
            "points": [[round(x, digits), round(y, digits)] for x, y in face.points],
        }
        if face.track is not None:
            line["track"] = face.track
        if face.sighting is not Sighting.SEEN:
            line["sighting"] = face.sighting
        if face.identity is not None:
            line["identity"] = face.identity
        if face.pose is not None:
            line["pose"] = [round(angle, digits) for angle in face.pose]
        return line


def _unwritable(error: OSError) -> OutputError:
    kind = ReaderGone if isinstance(error, BrokenPipeError) else OutputError
    return kind(
        f"standard output cannot be written: {error.strerror}",
        cure="keep its reader open to the end, or write a file with -o",
    )


def _open_stdout(path: str) -> BufferedWriter | BinaryIO:
    """The caller's standard output; appended to, since it may be a file with something in it."""
    return Path(path).open("ab") if path else sys.stdout.buffer
