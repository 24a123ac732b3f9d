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

from mpflow.errors import InternalError, OutputError
from mpflow.spec import SinkSummary
from mpflow.stage import Job, Options, Sink
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    from mpflow.frame import Frame
    from mpflow.media.output import OutputFile

_STDOUT = "-"


class FacesJsonOptions(Options, frozen=True):
    """``digits`` after the decimal point of boxes, points and scores."""

    digits: int = 3


class FacesJson(Sink[FacesJsonOptions]):
    """Writes one line a frame, to a file (under its partial name until whole) or to ``-``.

    ``-`` is the caller's standard output: a worker's own is a log, so the job's ``partial`` says
    where the caller's can be opened.
    """

    Options: ClassVar[type[Options]] = FacesJsonOptions
    suffix: ClassVar[str] = ".jsonl"
    needs = ("faces",)
    _file: OutputFile | None = None
    _stream: BufferedWriter | BinaryIO | None = None
    _frames = 0

    def begin(self, job: Job) -> None:
        """Open the output; raises OutputError or ResourceError."""
        from mpflow.media.output import OutputFile

        self._frames = 0
        if job.spec.output in ("", _STDOUT):
            self._stream = _open_stdout(job.spec.partial)
            return
        self._file = OutputFile(job.spec)
        self._file.prepare()
        self._stream = self._file.partial.open("wb")

    def write(self, token: Token, frame: Frame) -> None:
        """Write the faces in the frame's token; the pixels are not looked at."""
        if self._stream is None:
            raise InternalError("faces_json was used before begin")
        line = msgspec.json.encode(self._line(token)) + b"\n"
        try:
            self._stream.write(line)
            self._frames += 1
        except OSError as error:
            raise self._explain(error) from error

    def finish(self, *, complete: bool) -> SinkSummary:
        """Close the file; a complete one gets its final name."""
        from mpflow.media.output import output_error

        stream, self._stream = self._stream, None
        file, self._file = self._file, None
        try:
            if stream is not None:
                stream.flush()
        except OSError as error:
            if file is not None:
                file.discard()
                raise output_error(file.partial, error) from error
            raise self._explain(error) from error
        if file is None:
            if stream is not None and stream is not sys.stdout.buffer:
                stream.close()
            return SinkSummary(frames=self._frames, path=_STDOUT, complete=complete)
        if stream is not None:
            stream.close()
        if complete:
            size = file.commit()
            return SinkSummary(frames=self._frames, path=str(file.final), size=size)
        size = file.partial.stat().st_size
        file.release()
        return SinkSummary(
            frames=self._frames,
            path=str(file.partial),
            size=size,
            complete=False,
            playable=size > 0,
        )

    def close(self) -> None:
        """Close a file that was not finished."""
        if self._stream is not None:
            self.finish(complete=False)

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
        return line

    def _explain(self, error: OSError) -> Exception:
        from mpflow.media.output import output_error

        if self._file is None:
            return OutputError(
                f"standard output cannot be written: {error.strerror}",
                cure="keep its reader open to the end, or write a file with -o",
            )
        return output_error(self._file.partial, error)


def _open_stdout(path: str) -> BufferedWriter | BinaryIO:
    """The caller's standard output; appended to, since it may be a file with something in it."""
    return Path(path).open("ab") if path else sys.stdout.buffer
