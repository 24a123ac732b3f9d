"""The Python door: ``run`` a whole job, or take the frames yourself with ``Pipeline``.

    report = mpflow.run(mpflow.RunSpec(input="in.mp4", output="out.mp4"))

    with mpflow.Pipeline(mpflow.RunSpec(input="in.mp4")) as pipeline:
        for token, frame in pipeline:
            ...                      # frame.bgr(box), token.faces, ...

Both raise what the command line prints: an MpflowError with its cure. Neither installs a signal
handler, and both work from a script without a ``__main__`` guard, a notebook cell or a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from mpflow.channel import Channel, Message
from mpflow.config import resolve
from mpflow.desk import Desk
from mpflow.errors import ConfigError, InternalError, OutputError, PeerLost
from mpflow.frame import Frame
from mpflow.graph import plan_workers
from mpflow.jobs import Request, jobs_of
from mpflow.jobs.ending import conclude
from mpflow.jobs.folders import folders_for
from mpflow.jobs.live import LiveRequest, check_live, check_on_line, plan_live
from mpflow.jobs.sidecar import has_sidecar
from mpflow.making import require_marked
from mpflow.metrics import Meter
from mpflow.orders import Orders, Task
from mpflow.report import Report
from mpflow.session import JobResult, Session
from mpflow.shm import Bell, Order, Ring, Segment
from mpflow.sinkrunner import SinkRunner, open_book
from mpflow.spec import JobSpec, PipelineSpec, RunSpec, SinkSummary, StageSpec
from mpflow.tokens import Token

CALLER = StageSpec("caller", "mpflow.stage:Sink")


def run(spec: RunSpec) -> Report:
    """Run one job to its end and return its report; raises the MpflowError it ended with.

    A KeyboardInterrupt while it runs ends the job in order first, then goes on.
    """
    if not spec.output:
        raise ConfigError("run() needs an output", cure="set output=, or use mpflow.Pipeline")
    pipeline = _resolve(spec)
    job = _plan_live(spec, pipeline) if pipeline.live else _plan(spec, pipeline)
    with folders_for(job), Session() as session:
        session.open(pipeline, log_file=str(spec.log_file))
        result = conclude(pipeline, job, session.run(job))
    if session.interrupted:
        raise KeyboardInterrupt from result.error
    if result.error is not None:
        raise result.error
    return result.report


class Pipeline:
    """A pipeline whose last stage is the caller: iterate over (token, frame), in order.

    A frame is valid until the next one is asked for; ``report`` is there after the last one.
    Use it as a context manager, from one thread.
    """

    def __init__(self, spec: RunSpec) -> None:
        if spec.output:
            raise ConfigError("a Pipeline has no output", cure="leave output= out, or use run()")
        resolved = _resolve(spec)
        require_marked(resolved.preset, resolved.stages, taken=True)
        self._spec = msgspec.structs.replace(resolved, stages=(*resolved.stages[:-1], CALLER))
        self._log_file = str(spec.log_file)
        self._job = _without_output(spec, live=resolved.live)
        self._left_early = False
        self._session: Session | None = None
        self.report: Report | None = None

    def __enter__(self) -> Self:
        self._session = Session()
        self._session.open(self._spec, takes_frames=True, log_file=self._log_file)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def __iter__(self) -> Iterator[tuple[Token, Frame]]:
        session = self._session
        if session is None:
            raise ConfigError("the pipeline is not open", cure="use `with Pipeline(spec) as p:`")
        if self._left_early:
            raise ConfigError(
                "the last loop over this pipeline was left early, so its run is not over",
                cure="open a new Pipeline",
            )
        self._left_early = True
        session.start(self._job)
        orders = _CallerOrders(session, self._job)
        message, descriptors = orders.wait_for_begin()
        task = msgspec.convert(message["task"], Task)
        segment = Segment.attach(descriptors[0])
        stop = 2 + len(self._spec.stages)
        bells = [Bell(fd) for fd in descriptors[2:stop]]
        # besides the ring there are the analysis log and perhaps the sound, of no use here
        for descriptor in (*descriptors[:2], *descriptors[stop:]):
            os.close(descriptor)
        try:
            yield from self._frames(session.channel, segment, bells, orders, task)
            self.report = orders.wait_for_report()
            self._left_early = False
        finally:
            segment.close()
            for bell in bells:
                bell.close()

    def _frames(
        self,
        channel: Channel,
        segment: Segment,
        bells: list[Bell],
        orders: _CallerOrders,
        task: Task,
    ) -> Iterator[tuple[Token, Frame]]:
        plan = plan_workers(self._spec)[-1]
        ring = Ring(segment, bells, stage=plan.stage, worker=plan.id, order=Order.WATERMARK)
        meter, video = Meter(segment, plan.id), task.media.video
        desk = Desk.at(CALLER.name, ring, meter, orders, video, number=plan.number)
        channel.send("begun")
        runner = SinkRunner(desk, open_book(task, desk), task)
        yield from runner.frames()
        orders.raise_if_failed()
        summary = runner.close(SinkSummary(runner.written))
        channel.send("finished", summary=msgspec.to_builtins(summary))


class _CallerOrders(Orders):
    """Orders to a caller come between the news of the run, and the run may end among them."""

    def __init__(self, session: Session, job: JobSpec) -> None:
        super().__init__(session.channel)
        self._session = session
        self._job = job
        self._result: JobResult | None = None

    def read(self) -> None:
        try:
            super().read()
        except PeerLost:
            self._result = self._session.lost(self._job)
            self.close_now = True

    def wait_for_begin(self) -> tuple[Message, list[int]]:
        """Wait for the ring; raises the job's error when it comes to none."""
        while self._result is None:
            received = self._receive()
            if received is None:
                continue
            if received[0]["kind"] == "begin":
                return received
            self._note(received[0])
        self.raise_if_failed()
        raise InternalError("the run ended before it began")

    def wait_for_report(self) -> Report:
        """Leave the job with everyone else and return its report; raises the job's error."""
        while self._result is None:
            received = self._receive()
            if received is not None:
                self._note(received[0])
        self.raise_if_failed()
        return self._result.report

    def raise_if_failed(self) -> None:
        """Raise the error the run ended with, if it has ended."""
        while self.close_now and self._result is None:
            received = self._receive()
            if received is not None:
                self._note(received[0])
        if self._result is not None and self._result.error is not None:
            raise self._result.error

    def _receive(self) -> tuple[Message, list[int]] | None:
        try:
            return self._channel.receive()
        except PeerLost:
            self._result = self._session.lost(self._job)
            return None

    def _note(self, message: Message) -> None:
        result = self._session.hear(message)
        if result is not None:
            self._result = result
            self.close_now = True
            return
        if message["kind"] == "end":
            with suppress(PeerLost):
                self._channel.send("idle")
        super()._note(message)


def _plan(spec: RunSpec, pipeline: PipelineSpec) -> JobSpec:
    """The one job of a RunSpec."""
    source, output = os.fspath(spec.input), os.fspath(spec.output)
    if Path(source).is_dir():
        raise ConfigError(f"{source!r} is a folder", cure="run its files one by one")
    if Path(output).is_file() and not spec.overwrite:
        raise OutputError(f"{output!r} exists already", cure="overwrite=True replaces it")
    _check_range(spec)
    (job,) = jobs_of(
        Request(
            [source],
            output,
            spec.preset,
            "yes" if spec.overwrite else "ask",
            start=spec.start,
            stop=spec.stop,
            resume=spec.resume,
            tokens=os.fspath(spec.tokens),
            trace=os.fspath(spec.trace),
            sidecar=has_sidecar(pipeline),
        )
    )
    return job


def _plan_live(spec: RunSpec, pipeline: PipelineSpec) -> JobSpec:
    """The one job of a live preset; files are replaced where ``overwrite`` says so."""
    check_live(pipeline, os.fspath(spec.output))
    first, last = (pipeline.stages[at].options for at in (0, -1))
    request = LiveRequest(
        os.fspath(spec.input),
        os.fspath(spec.output),
        overwrite=spec.overwrite,
        listens=bool(first.get("listen")),
        named_format=bool(last.get("format")),
        tokens=os.fspath(spec.tokens),
        trace=os.fspath(spec.trace),
    )
    planned = plan_live(request)
    check_on_line(pipeline, planned)
    return planned.job


def _without_output(spec: RunSpec, *, live: bool) -> JobSpec:
    """The job of a caller who takes the frames itself."""
    _check_range(spec)
    if spec.resume:
        raise ConfigError("a Pipeline keeps nothing to go on with", cure="start= skips frames")
    return JobSpec(
        "job-1",
        os.fspath(spec.input),
        start=spec.start,
        stop=spec.stop,
        tokens=os.fspath(spec.tokens),
        trace=os.fspath(spec.trace),
        live=live,
    )


def _check_range(spec: RunSpec) -> None:
    if not 0 <= spec.start < (spec.start + 1 if spec.stop is None else spec.stop):
        raise ConfigError(
            f"start={spec.start}, stop={spec.stop} is no range of frames",
            cure="frames are counted from 0, and stop is after the last one",
        )


def _resolve(spec: RunSpec) -> PipelineSpec:
    flags = [(key, value, "RunSpec.set") for key, value in spec.set.items()]
    file = Path(spec.config) if spec.config else None
    return resolve(spec.preset, flags=flags, config_file=file).spec
