"""Stages that tell how batches form: one whose memory holds few frames, and a source and a sink
of which each waits for the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from foreign_stages import Numbers, NumbersOptions, Tally, TallyOptions
from trap_stages import Paint, PaintOptions

from mpflow.frame import Frame
from mpflow.spec import BEGINNING, Place
from mpflow.stage import Job, Picture, Work
from mpflow.tokens import Token


class GreedyOptions(PaintOptions, frozen=True):
    """``fits`` frames at once have room; ``says`` is how it tells that there is none. With
    ``late`` it finds out after it has worked on the first two. Each time is marked in ``once``."""

    fits: int = 2
    says: str = "memory"
    late: bool = False


class RuntimeFailure(RuntimeError):
    """Stands for what a library raises that has no exception of its own for lack of memory."""


class Greedy(Paint):
    """Paints (see trap_stages), but not too many frames at once."""

    Options = GreedyOptions
    options: GreedyOptions

    @property
    def max_wait_ms(self) -> float:
        return 200.0

    def process(self, batch: Sequence[Work]) -> Iterable[Token]:
        worked = super().process(batch if self._fits(batch) else batch[:2])
        for given, token in enumerate(worked):
            if given == 1 and not self._fits(batch):
                self._run_out(len(batch))  # both are painted; the second was not given on
            yield token.with_field("greedy.batch", len(batch))

    def _fits(self, batch: Sequence[Work]) -> bool:
        if len(batch) <= self.options.fits:
            return True
        if not self.options.late:
            self._run_out(len(batch))
        return False

    def _run_out(self, size: int) -> None:
        folder = Path(self.options.once)
        (folder / f"out-{size}-{len(list(folder.iterdir()))}").touch()
        if self.options.says == "memory":
            raise MemoryError
        raise RuntimeFailure(self.options.says)


class DripOptions(NumbersOptions, frozen=True):
    """``gates`` is a folder with a FIFO for each frame."""

    gates: str = ""


class Drip(Numbers):
    """Gives a frame only when the one before it has come out at the end (see Catch)."""

    Options = DripOptions
    options: DripOptions

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        for number, picture in enumerate(super().pictures(place), place.frame):
            if number:
                (Path(self.options.gates) / str(number - 1)).open("rb").read()
            yield picture


class CatchOptions(TallyOptions, frozen=True):
    """``gates`` is a folder with a FIFO for each frame but the last."""

    gates: str = ""


class Catch(Tally):
    """Lets a Drip go on after each frame."""

    Options = CatchOptions
    options: CatchOptions

    def begin(self, job: Job) -> None:
        super().begin(job)
        self._gates = Path(self.options.gates)

    def write(self, token: Token, frame: Frame) -> None:
        super().write(token, frame)
        gate = self._gates / str(token.seq)
        if gate.exists():
            gate.open("wb").close()


def gates_in(folder: Path, frames: int) -> str:
    """FIFOs for all frames but the last."""
    gates = folder / "gates"
    gates.mkdir()
    for number in range(frames - 1):
        os.mkfifo(gates / str(number))
    return str(gates)
