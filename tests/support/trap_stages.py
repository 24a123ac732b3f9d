"""Stages with traps for tests of recovery: each trap snaps at set frames, once or always.

What they make depends on every pixel and on the order of frames, so that a run in which somebody
died can be compared with an undisturbed one line by line. The traps of one job alone can stand in
its input, as JSON: ``{"paint": {"step": "J1"}}``; they are marked beside its output.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from foreign_stages import Numbers, NumbersOptions, fill

from mpflow.frame import Frame
from mpflow.shm import steps
from mpflow.spec import BEGINNING, JobSpec, Place, SinkSummary, SourceSummary
from mpflow.stage import Job, Options, Picture, Sink, Stage, Work
from mpflow.tokens import Token

BOXES = [(0, 0, 16, 16), (20, 8, 40, 24), (8, 30, 30, 46)]


class TrapOptions(Options, frozen=True):
    """At each of the frames ``at`` do what ``habit`` says: every time, or once with ``once``, a
    folder in which the snapped traps are marked. A ``gate`` is a FIFO there. ``step``
    names a shared store before which the worker is killed, at its ``nth`` time, once; or stopped,
    or kept at a gate that no frame has.
    """

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""
    step: str = ""
    nth: int = 1


class Trap:
    """What a trap does; mixed into stages whose options have the fields of TrapOptions."""

    options: TrapOptions

    def arm(self, job: Job) -> None:
        """Set the traps; one may kill this process before a shared store."""
        self._asked = getattr(self, "_asked", self.options)
        self.options = msgspec.structs.replace(self._asked, **self._told(job.spec))
        steps.hook = None
        if not self.options.step or not self._is_armed_for(f"step-{self.options.step}"):
            return
        left = [self.options.nth]
        mark = self._snapped(f"step-{self.options.step}")

        def hook(name: str) -> None:
            if name == self.options.step:
                left[0] -= 1
                if not left[0]:
                    mark.touch()
                    self._snap_before(name)

        steps.hook = hook

    def _snap_before(self, step: str) -> None:
        match self.options.habit:
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "gate" if not self.options.at:
                self._wait_at(step)
            case _:
                os.kill(os.getpid(), signal.SIGKILL)

    def spring(self, seq: int) -> None:
        """Snap, if this is a frame to do so."""
        if seq not in self.options.at or not self._is_armed_for(str(seq)):
            return
        if self.options.once:
            self._snapped(str(seq)).touch()
        match self.options.habit:
            case "raise":
                raise ValueError(f"a trap at {seq}")
            case "exit":
                os._exit(7)
            case "segfault":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "hang":
                signal.pause()
            case "gate":
                self._wait_at(seq)

    def _wait_at(self, gate: int | str) -> None:
        """Whoever opens the other end knows that this worker is here, and lets it go on."""
        (Path(self.options.once) / f"gate-{gate}").open("rb").read()

    def _told(self, job: JobSpec) -> dict[str, Any]:
        """The traps that the job itself has for this stage."""
        if not job.input.startswith("{"):
            return {}
        marks = Path(f"{job.output}.marks")
        marks.mkdir(exist_ok=True)
        return {"once": str(marks), **json.loads(job.input).get(self.context.name, {})}

    def _is_armed_for(self, name: str) -> bool:
        return not self.options.once or not self._snapped(name).exists()

    def _snapped(self, name: str) -> Path:
        return Path(self.options.once) / f"{type(self).__name__}-{name}"


class ReadOptions(NumbersOptions, frozen=True):
    """Numbers with a trap; with ``filling`` it snaps when the frame has a slot already."""

    habit: str = ""
    at: tuple[int, ...] = ()
    once: str = ""
    step: str = ""
    nth: int = 1
    filling: bool = False


class Read(Trap, Numbers):
    """Numbers with a trap."""

    Options = ReadOptions
    options: ReadOptions

    def begin(self, job: Job) -> None:
        super().begin(job)
        self.arm(job)

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        for number, picture in enumerate(super().pictures(place), place.frame):
            if not self.options.filling:
                self.spring(number)
                yield picture
            else:
                yield replace(picture, fill=partial(self._fill, number))

    def _fill(self, number: int, frame: Frame) -> None:
        self.spring(number)
        fill(frame, number)

    def end(self) -> SourceSummary:
        return SourceSummary(self._given, expected=self.options.frames)


class PaintOptions(TrapOptions, frozen=True):
    """How many frames come at once, and how long each takes. ``between`` snaps the trap after so
    many of the rectangles of a frame were painted."""

    batch: int = 1
    delay_ms: float = 0
    between: int = -1
    building: bool = False


class Paint(Trap, Stage[PaintOptions]):
    """Adds to three rectangles of a frame what depends on what stood there; not twice the same."""

    Options = PaintOptions
    options: PaintOptions
    changes_pixels = True

    @property
    def max_batch(self) -> int:
        return self.options.batch

    def begin(self, job: Job) -> None:
        self.arm(job)

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            if self.options.between < 0:
                self._spring_slowly(work.token.seq)
        for work in batch:
            time.sleep(self.options.delay_ms / 1000)  # a stage that takes so long a frame
            self._paint(work.frame, work.token.seq)
            yield work.token.with_field("trap.paint", work.token.seq)

    def _spring_slowly(self, seq: int) -> None:
        if self.options.building:
            with self.context.building():
                self.spring(seq)
        else:
            self.spring(seq)

    def _paint(self, frame: Frame, seq: int) -> None:
        for number, region in enumerate(frame.edit(BOXES)):
            if number == self.options.between:
                self.spring(seq)
            for plane in region.planes:
                plane[...] = plane * 3 + 7


class Stamp(Paint):
    """Paint as a stage that marks made faces."""

    marks_faces = True


class FollowOptions(TrapOptions, frozen=True):
    """How many frames are looked ahead."""

    ahead: int = 0


class Keeper(Trap, Stage[FollowOptions]):
    """Keeps as many frames back as it looks ahead."""

    Options = FollowOptions
    options: FollowOptions

    @property
    def holds(self) -> int:
        return self.options.ahead

    def begin(self, job: Job) -> None:
        self._kept: list[Token] = []
        self.arm(job)

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            self.spring(work.token.seq)
            self._kept.append(work.token)
        while len(self._kept) > self.options.ahead:
            yield self.result(self._kept.pop(0))

    def flush(self) -> Iterable[Token]:
        while self._kept:
            yield self.result(self._kept.pop(0))

    def result(self, token: Token) -> Token:
        """What is put on a frame's card."""
        raise NotImplementedError


class Follow(Keeper):
    """Adds up what it has seen of all frames so far: each result depends on all before it."""

    ordered = True
    remembers = True

    def begin(self, job: Job) -> None:
        self._sum = 0
        super().begin(job)

    def recall(self, tokens: Iterable[Token]) -> None:
        for token in tokens:
            self._sum = int(token.fields["trap.sum"])

    def result(self, token: Token) -> Token:
        self._sum = (self._sum * 31 + token.seq) % 1_000_003
        return token.with_field("trap.sum", self._sum)


class Scribble(Follow):
    """Remembers and changes pixels, which no stage may."""

    changes_pixels = True


class RowsOptions(TrapOptions, frozen=True):
    """Every ``grid`` rows are durable together."""

    grid: int = 10


class Rows(Trap, Sink[RowsOptions]):
    """One JSON line a frame; whole groups of lines are durable, and a fresh worker goes on."""

    Options = RowsOptions
    options: RowsOptions
    restartable = True

    def begin(self, job: Job) -> None:
        self._job = job.spec
        self._path = Path(job.spec.partial)
        self._rows: list[bytes] = []
        kept: list[bytes] = []
        if job.spec.resume and self._path.exists():
            kept = self._path.read_bytes().splitlines(keepends=True)
        self._durable = len(kept)
        self._path.write_bytes(b"".join(kept))
        Path(job.spec.parts).mkdir(exist_ok=True)
        self.arm(job)

    @property
    def kept(self) -> Place:
        return Place(self._durable)

    def write(self, token: Token, frame: Frame) -> None:
        self.spring(token.seq)
        row = {
            "seq": token.seq,
            "pts": token.pts,
            "state": token.state,
            "fields": dict(sorted(token.fields.items())),
            "crc": [zlib.crc32(plane.tobytes()) for plane in frame.planes],
        }
        self._rows.append(json.dumps(row).encode() + b"\n")
        if (token.seq + 1) % self.options.grid == 0:
            self._keep(token.seq + 1)

    def finish(self, *, complete: bool) -> SinkSummary:
        if self._rows:
            self._keep(self._durable + len(self._rows))
        if complete:
            self._path.replace(self._job.output)
        return SinkSummary(self._durable, self._job.output, 0, complete)

    def _keep(self, stop: int) -> None:
        if self.before_keeping is not None:
            self.before_keeping(stop)
        with self._path.open("ab") as file:
            file.write(b"".join(self._rows))
        self._rows.clear()
        self._durable = stop


class Linger(Paint):
    """A trap that snaps outside of ``process``: when it opens again, or when the job ends."""

    def open(self) -> None:
        again = any(not self._is_armed_for(str(seq)) for seq in self.options.at)
        match self.options.habit:
            case "slow-again" if again:
                # a model that is loaded: until the job is over for the others
                (Path(self.options.once) / "gate-open").open("rb").read()
            case "no-start-again" if again and self._is_armed_for("start"):
                self._snapped("start").touch()
                raise RuntimeError("could not start once")

    def spring(self, seq: int) -> None:
        match self.options.habit:
            case "slow-again" | "no-start-again":
                if seq in self.options.at and self._is_armed_for(str(seq)):
                    self._snapped(str(seq)).touch()
                    os.kill(os.getpid(), signal.SIGKILL)
            case "sys-exit":
                if seq in self.options.at and self._is_armed_for(str(seq)):
                    self._snapped(str(seq)).touch()
                    sys.exit(3)
            case "no-memory":
                raise MemoryError
            case "hang-at-the-end":
                pass
            case _:
                super().spring(seq)

    def end(self) -> None:
        if self.options.habit == "hang-at-the-end":
            signal.pause()


class Depart(Follow):
    """Lets the gate of a Linger open when the job ends for it, and waits there."""

    def end(self) -> None:
        with (Path(self.options.once) / "gate-open").open("wb"):
            pass


class Flush(Follow):
    """``flush`` raises: once, or always."""

    def flush(self) -> Iterable[Token]:
        if self.options.habit == "always" or self._is_armed_for("flush"):
            if self.options.once:
                self._snapped("flush").touch()
            raise ValueError("cannot flush")
        return super().flush()


class SlowRecall(Follow):
    """Takes longer to take up its memory than it may be silent."""

    def recall(self, tokens: Iterable[Token]) -> None:
        known = list(tokens)
        if known:
            # nothing to wait for: it is the time that counts, and it has to be longer than a limit
            time.sleep(1.5)
        super().recall(known)


class SlowClose(Rows):
    """Takes longer to close its file than no frame may move, as a large file does."""

    def finish(self, *, complete: bool) -> SinkSummary:
        # nothing to wait for: it is the time that counts, and it has to be longer than a limit
        time.sleep(1.5)
        return super().finish(complete=complete)


class Newcomer(Paint):
    """Its first worker does nothing special; the others open late (``slow-open`` waits at a gate),
    never (``fail-open``, ``die-open``), cannot begin (``fail-begin``), or wait at a gate with
    their first frame (``hold``), all of them once.
    """

    def open(self) -> None:
        if self.context.worker == 0:
            return
        match self.options.habit:
            case "slow-open" if self._snaps():
                self._wait_at("open")
            case "fail-open" if self._snaps():
                raise RuntimeError("no room for another model")
            case "die-open" if self._snaps():
                os.kill(os.getpid(), signal.SIGKILL)

    def begin(self, job: Job) -> None:
        if self.context.worker and self.options.habit == "fail-begin" and self._snaps():
            raise RuntimeError("cannot join")

    def spring(self, seq: int) -> None:
        if self.context.worker and self.options.habit == "hold" and self._snaps():
            self._wait_at("held")

    def _snaps(self) -> bool:
        first = self._is_armed_for(self.options.habit)
        self._snapped(self.options.habit).touch()
        return first


class Hoard(Keeper):
    """Keeps frames back, each worker its own, and needs no order among them."""

    def result(self, token: Token) -> Token:
        return token.with_field("trap.hoard", token.seq)


class Hide(Paint):
    """Stands for a stage that hides people."""

    protects = True


class Plain(Paint):
    """Does nothing to a frame."""

    changes_pixels = False

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        for work in batch:
            yield work.token
