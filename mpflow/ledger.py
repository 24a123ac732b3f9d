"""The books of a job: what became of every frame, and where its time went.

    note (one frame, in order) ... keep(stop): what is known of the frames below is on the disk

A restartable sink calls ``keep`` right before its own frames become durable, so the ledger never
lacks one that the output has. Whoever goes on from a durable place cuts the files back to it and
takes up the totals. On disk, in the job's folder of parts, it is a line for each stretch:

    {"start": 0, "stop": 60, "delivered": 59, "masked": 1, "passed": 0, "dropped": 0, "degraded": 0,
     "single_frame": 0, "left": 0, "faces": 70, "frames_with_faces": 58, "covered": 70, "open": 0,
     "drifted": 0, "changed": {}, "rows": [{...}]}
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from mpflow.accounts import COVERED, DRIFT, LEFT, OPEN, LedgerSummary, LostFrame
from mpflow.errors import InternalError, Refused
from mpflow.facewatch import FaceWatch
from mpflow.latency import LatencyBook
from mpflow.linefile import LineFile
from mpflow.spec import BEGINNING, Place, SinkSummary
from mpflow.stretches import Noted, Stretch, Totals
from mpflow.tokenlines import frame_of, token_line
from mpflow.tokens import FrameState, Mode, Stamp, Token
from mpflow.trace import Trace

LEDGER = "ledger.jsonl"
_KEEP_EVERY = 256

Alert = Callable[[str, str, int], None]
"""Tells of an alert: its kind, a sentence, and the frame."""


class _Entry(msgspec.Struct, gc=False):
    """One frame that is not kept yet, and its line for the file of tokens."""

    noted: Noted
    line: bytes


class Book:
    """Takes in each frame's final token; for one thread, of the worker that has the last stage."""

    def __init__(  # noqa: PLR0913 - one name for each file and each thing to watch
        self,
        folder: Path | None = None,
        *,
        tokens: Path | None = None,
        trace: Path | None = None,
        start: Place = BEGINNING,
        begun: int | None = None,
        name: str = LEDGER,
        past: LedgerSummary | None = None,
        no_face_for: float = 0.0,
        alert: Alert = lambda kind, text, frame: None,
    ) -> None:
        """Begin with frame ``start.frame``, on what was kept of the frames before it.

        ``folder`` is where the ledger lies (None: nowhere), ``tokens`` and ``trace`` are files
        to write. ``begun`` is when the job began, in nanoseconds of the monotonic clock; ``past``
        what a last stage that died had counted, where no folder keeps it. Raises
        OutputError or ResourceError for a file, and Refused when frames are missing in the ledger.
        """
        self._totals = Totals(past)
        self._pending: deque[_Entry] = deque()
        self._latency = LatencyBook()
        self._faces = FaceWatch(no_face_for)
        self._alert = alert
        self._begun = begun
        self._trace_path = trace
        self._trace: Trace | None = None
        self._ledger = None if folder is None else self._open_ledger(folder / name, start.frame)
        if past is None:
            self._totals.stop = start.frame
        self._tokens = None if tokens is None else _cut_tokens(tokens, start.frame)

    @property
    def kept(self) -> int:
        """The first frame that is not kept."""
        return self._totals.stop

    @property
    def next(self) -> int:
        """The frame to be noted next."""
        return self._totals.stop + len(self._pending)

    def note(self, token: Token, stamp: Stamp | None) -> None:
        """Take in a frame: its token and the last stage's stamp (None: it was not asked to work).

        Raises InternalError for a frame that is not the next one.
        """
        if token.seq != self._totals.stop + len(self._pending):
            raise InternalError(
                f"frame {token.seq} came to the ledger, and {self.next} is the next one",
                facts={"frame": token.seq, "expected": self.next},
            )
        stamps = token.stamps if stamp is None else (*token.stamps, stamp)
        if stamps:
            self._latency.note(token.born, stamps)
        line = b""
        if self._tokens is not None or self._trace_path is not None:
            line = self._write_down(token, stamp, stamps)
        self._pending.append(_Entry(_noted(token), line))
        if (alert := self._faces.look(token)) is not None:
            self._alert("no_face", alert, token.seq)
        if self._ledger is None and len(self._pending) >= _KEEP_EVERY:
            self.keep(self.next)  # nobody goes on from here, and memory stays flat

    def recant(self, before: Token, after: Token) -> None:
        """A frame turned out not to be what it was noted as: one that a live output had taken, and
        that never arrived.

        It keeps its one place in the sums; a file of tokens tells of it once more, if it was told
        of already. Raises InternalError for a frame that was not noted, or is durable.
        """
        place = after.seq - self.kept
        if after.seq >= self.next or (place < 0 and self._ledger is not None):
            raise InternalError(
                f"frame {after.seq} is taken back, and was not noted, or is durable"
            )
        begun = after.born if self._begun is None else self._begun
        line = b"" if self._tokens is None else token_line(after, begun)
        if place >= 0:
            entry = self._pending[place]
            entry.noted.row, entry.line = lost_frame(after), line
            return
        self._totals.recant(_row(before), lost_frame(after))
        if self._tokens is not None:
            self._tokens.write([line])

    @property
    def so_far(self) -> LedgerSummary:
        """What is kept so far."""
        return self._totals.summary()

    def keep(self, stop: int) -> None:
        """All frames below ``stop`` are about to become durable: what is known of them is first."""
        if stop > self.next:
            raise InternalError(f"frame {stop - 1} becomes durable, and {self.next} was not noted")
        if stop <= self.kept:
            return
        stretch = Stretch(self.kept, stop)
        entries = [self._pending.popleft() for _ in range(stop - self.kept)]
        for entry in entries:
            stretch.count(entry.noted)
        if self._tokens is not None:
            self._tokens.write(entry.line for entry in entries)
            self._tokens.keep()
        if self._trace is not None:
            self._trace.flush()
        if self._ledger is not None:
            self._ledger.write([msgspec.json.encode(stretch) + b"\n"])
            self._ledger.keep()
        self._totals.add(stretch)

    def close(self, summary: SinkSummary) -> SinkSummary:
        """Keep the rest and end the files; the summary of the sink with what the books say."""
        self.keep(self.next)
        self.abandon()
        ledger = self._totals.summary()
        return msgspec.structs.replace(
            summary,
            faces=ledger.faces,
            frames_with_faces=ledger.frames_with_faces,
            ledger=ledger,
            latency=self._latency.summary(),
        )

    def abandon(self) -> None:
        """End the files as they are, after an error: what is not kept is made again."""
        trace, self._trace = self._trace, None
        for file in (self._tokens, self._ledger, trace):
            if file is not None:
                file.close()
        self._tokens = self._ledger = self._trace_path = None

    def _write_down(self, token: Token, stamp: Stamp | None, stamps: tuple[Stamp, ...]) -> bytes:
        """Give a frame to the trace; its line for the file of tokens."""
        if self._begun is None:
            self._begun = token.born
        if self._trace_path is not None:
            if self._trace is None:
                self._trace = Trace(self._trace_path, self._begun)
            self._trace.note(token.seq, token.born, stamps)
        if self._tokens is None:
            return b""
        return token_line(token if stamp is None else token.done(stamp), self._begun)

    def _open_ledger(self, path: Path, frame: int) -> LineFile:
        ledger = LineFile(path, lambda line: self._take_up(line, frame))
        if self._totals.stop == frame:
            return ledger
        ledger.close()
        raise Refused(
            f"{str(path)!r} tells of {self._totals.stop} frames, and {frame} are finished",
            cure="-y without --resume starts anew",
        )

    def _take_up(self, line: bytes, frame: int) -> bool:
        """Add a stretch that an earlier worker kept; False ends the taking up."""
        try:
            stretch = msgspec.json.decode(line, type=Stretch)
        except msgspec.DecodeError:
            return False
        if stretch.start != self._totals.stop or stretch.stop > frame:
            return False
        self._totals.add(stretch)
        return True


def lost_frame(token: Token) -> LostFrame:
    """The row of a frame that was not delivered as asked: who changed its state last, and why.

    One that was delivered with less than was asked is ``degraded``, by what its card says.
    """
    if token.state is FrameState.LIVE:
        return LostFrame(token.seq, token.pts, "degraded", "", ", ".join(token.degradations))
    change = next((c for c in reversed(token.changes) if c.what.startswith("state:")), None)
    stage, reason = ("", "") if change is None else (change.stage, change.reason)
    return LostFrame(token.seq, token.pts, token.state.value, stage, reason)


def _noted(token: Token) -> Noted:
    """What is counted of a frame; one that is masked is covered with all of its faces."""
    faces, masked = len(token.faces), token.state is FrameState.MASKED
    return Noted(
        _row(token),
        faces,
        covered=faces if masked else int(token.fields.get(COVERED, 0)),
        open=0 if masked else int(token.fields.get(OPEN, 0)),
        single=token.mode is Mode.SINGLE_FRAME,
        left=bool(token.fields.get(LEFT)),
        drifted=DRIFT in token.fields,
        changed=token.degradations,
    )


def _row(token: Token) -> LostFrame | None:
    """The row of a frame, unless it was delivered as asked."""
    is_as_asked = token.state is FrameState.LIVE and not token.degradations
    return None if is_as_asked else lost_frame(token)


def _cut_tokens(path: Path, frame: int) -> LineFile:
    return LineFile(path, lambda line: 0 <= frame_of(line) < frame)
