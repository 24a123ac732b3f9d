"""Does a stage keep the contract? Runs it for real, between a source and a sink of our own.

    python -m mpflow.conformance package.module:Class [KEY=VALUE ...] [--input FILE]

Checked, at exactly the smallest ring, and at the smallest in which it may keep back all it likes:
it opens, begins twice in one process, gives every frame on
once and in order (with two workers where the stage has no memory), flushes what it holds at the
end of the stream, returns every lease, lets go of every array, and closes.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mpflow.config import resolve
from mpflow.errors import ContractError, MpflowError
from mpflow.frame import Frame
from mpflow.graph import Demand, minimum_slots, uncut_slots
from mpflow.importer import AnyStageClass, build, stage_class, target_of
from mpflow.pipeline import Pipeline
from mpflow.session import Session
from mpflow.spec import (
    BEGINNING,
    Job,
    JobSpec,
    MediaInfo,
    Place,
    RunSpec,
    SinkSummary,
    SourceSummary,
    StageSpec,
    VideoInfo,
)
from mpflow.stage import (
    ANYTHING,
    Options,
    Picture,
    Sink,
    Source,
    Stage,
    StageContext,
    Work,
)
from mpflow.tokens import Face, Token

FRAMES = 24
_POINTS = ((0.38, 0.38), (0.45, 0.38), (0.41, 0.42), (0.39, 0.46), (0.44, 0.46))
ROUNDS = 2


class PatternOptions(Options, frozen=True):
    """What is made: a moving gradient of so many frames."""

    frames: int = FRAMES
    width: int = 322
    height: int = 242
    pixel_format: str = "yuv420p"


class Pattern(Source[PatternOptions]):
    """A source without a file: a gradient that moves by one pixel a frame."""

    Options = PatternOptions
    options: PatternOptions

    def probe(self, job: JobSpec) -> MediaInfo:
        """Describe the pattern; the input's name does not matter."""
        o = self.options
        video = VideoInfo(
            0, "pattern", o.width, o.height, o.pixel_format, o.pixel_format, (1, 25), (25, 1)
        )
        return MediaInfo(job.input, "pattern", video)

    def begin(self, job: Job) -> None:
        """Start from the first frame again."""
        self._given = 0

    def pictures(self, place: Place = BEGINNING) -> Iterator[Picture]:
        """Every frame, 25 a second."""
        for number in range(place.frame, self.options.frames):
            self._given = number + 1
            yield Picture(number, (1, 25), 1, number == 0, partial(_fill, number))

    def end(self) -> SourceSummary:
        """How many were made."""
        return SourceSummary(self._given)


class OneFace(Stage[Options]):
    """Puts one face on every token, so that stages which need faces have something to do."""

    gives = (ANYTHING,)

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """A face in the middle of the picture."""
        for work in batch:
            width, height = work.frame.width, work.frame.height
            box = (width / 3, height / 3, width / 2, height / 2)
            points = tuple((width * x, height * y) for x, y in _POINTS)
            yield work.token.with_faces([Face(box, 0.9, points)])


class Nothing(Sink[Options]):
    """A sink that keeps nothing."""

    def begin(self, job: Job) -> None:
        """Start counting."""
        self._frames = 0

    def write(self, token: Token, frame: Frame) -> None:
        """Count the frame."""
        self._frames += 1

    def finish(self, *, complete: bool) -> SinkSummary:
        """How many came."""
        return SinkSummary(self._frames, complete=complete)


def check(stage: str, options: Mapping[str, Any] | None = None, *, source: str = "pattern") -> None:
    """Run a stage through everything the contract asks for.

    ``stage`` is a short name or ``package.module:Class``, ``options`` are its options. ``source``
    is an input file, for stages that open it: sources, and sinks that copy streams from it.
    Raises ContractError that says what was broken, or the MpflowError the run ended with.
    """
    target = target_of(stage)
    spec = StageSpec("checked", target, dict(options or {}))
    is_sink = issubclass(stage_class(target), Sink)
    workers = _workers_of(spec)
    for slots in _slots_for(spec, workers):
        with tempfile.TemporaryDirectory(prefix="mpflow-check-") as folder:
            if is_sink:
                _check_sink(spec, Path(folder), source, slots)
            else:
                _check_giver(spec, Path(folder), source, slots, workers)


def _workers_of(spec: StageSpec) -> int:
    """Two of a stage that has no memory."""
    cls = stage_class(spec.target)
    return 2 if issubclass(cls, Stage) and not cls.ordered else 1


def _slots_for(spec: StageSpec, workers: int) -> list[int]:
    """The smallest ring, and the smallest in which nothing that the stage keeps back is cut."""
    checked = build(spec, StageContext("checked", workers=workers))
    demand = Demand()
    if isinstance(checked, Stage):
        demand = Demand(checked.holds, least_holds=checked.least_holds)
    elif isinstance(checked, Sink):
        demand = Demand(checked.holds)
    demands = [demand] * workers
    return sorted({minimum_slots(demands), uncut_slots(demands)})


def _check_giver(spec: StageSpec, folder: Path, source: str, slots: int, workers: int) -> None:
    """A source or a stage: take its frames ourselves, round after round in the same process."""
    cls = stage_class(spec.target)
    is_stage = issubclass(cls, Stage)
    entry = {
        "stage": spec.target,
        "name": "checked",
        "options": spec.options,
        "workers": workers,
    }
    stages = [_ours(Pattern), _ours(OneFace), entry] if is_stage else [entry]
    if issubclass(cls, Stage) and cls.makes_faces:  # whose frames we take only marked, as anybody
        stages.append({"stage": "mark"})
    preset = _preset(folder, [*stages, _ours(Nothing)], slots)
    with Pipeline(RunSpec(source, preset=preset)) as pipeline:
        for number in range(1, ROUNDS + 1):
            seqs = [token.seq for token, _ in pipeline]
            read = pipeline.report.frames_read if pipeline.report else 0
            left = pipeline.report.leases_left if pipeline.report else 0
            if seqs != list(range(read)) or not read:
                raise ContractError(
                    f"{spec.target} gave frames {seqs} of {read} in round {number}",
                    cure="yield each frame's token once, and in flush what is held back",
                )
            _require_returned(spec, left)


def _check_sink(spec: StageSpec, folder: Path, source: str, slots: int) -> None:
    entry = {"stage": spec.target, "name": "checked", "options": spec.options}
    preset = _preset(folder, [_ours(Pattern), _ours(OneFace), entry], slots)
    suffix = getattr(stage_class(spec.target), "suffix", "") or ".mp4"
    with Session() as session:
        session.open(resolve(preset).spec)
        for number in range(ROUNDS):
            output = folder / f"out{number}{suffix}"
            partial = output.with_suffix(f".partial{suffix}")
            result = session.run(JobSpec(f"round-{number}", source, str(output), str(partial)))
            if result.error is not None:
                raise result.error
            if result.report.frames_written != FRAMES or not result.report.complete:
                raise ContractError(
                    f"{spec.target} says it wrote {result.report.frames_written} of {FRAMES}",
                    cure="count each frame once, and give the file its final name in finish",
                )
            _require_returned(spec, result.report.leases_left)


def _require_returned(spec: StageSpec, left: int) -> None:
    if left:
        raise ContractError(
            f"{spec.target} left {left} leases unreturned",
            cure="let go of exported pixels when the stream ends",
        )


def _preset(folder: Path, stages: Sequence[dict[str, Any]], slots: int) -> str:
    """A preset file with a ring of so many slots."""
    path = folder / "check.yaml"
    path.write_text(yaml.safe_dump({"stages": list(stages), "slots": slots}), encoding="utf-8")
    return str(path)


def _ours(cls: AnyStageClass) -> dict[str, Any]:
    # by its import name, also where this module runs as __main__
    return {"stage": f"mpflow.conformance:{cls.__name__}"}


def _fill(number: int, frame: Frame) -> None:
    for plane in frame.fill_planes():
        rows = np.arange(plane.shape[0], dtype=np.uint16)
        columns = np.arange(plane.shape[1], dtype=np.uint16)
        gradient = (rows[:, None] + columns[None, :] + number) % 200 + 16
        plane[...] = gradient if plane.ndim == 2 else gradient[:, :, None]


def main() -> int:
    """The command: exit status 0 when the contract is kept, the error's own otherwise."""
    parser = argparse.ArgumentParser(prog="mpflow.conformance", description=__doc__)
    parser.add_argument("stage", help="a short name, or package.module:Class")
    parser.add_argument("options", nargs="*", metavar="KEY=VALUE", help="options of the stage")
    parser.add_argument("--input", default="pattern", help="a file, for stages that open it")
    given = parser.parse_args()
    options = dict(text.split("=", 1) for text in given.options)
    try:
        check(given.stage, options, source=given.input)
    except MpflowError as error:
        parser.exit(error.exit_status, f"{error}\n")
    parser.exit(0, f"{given.stage} keeps the contract\n")


if __name__ == "__main__":
    main()
