"""A worker process: opens its stage once, then serves one job after another until told to quit.

    start -> ready -> (probe) -> begin -> begun -> (go) -> ... -> finished -> end -> idle -> quit

Its standard error goes to the supervisor, it ignores Ctrl-C and SIGTERM (the supervisor decides),
and the kernel kills it when the supervisor dies.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mpflow import errors
from mpflow.analysis import AnalysisLog
from mpflow.batcher import Batching
from mpflow.channel import Channel, Message
from mpflow.coredumps import forbid_core_dumps
from mpflow.desk import Desk
from mpflow.errors import PeerLost
from mpflow.heed import Heed, Tuning
from mpflow.importer import AnyStage, build, demand_of
from mpflow.livesource import LiveSourceRunner
from mpflow.metrics import Meter
from mpflow.orders import Orders, Task
from mpflow.reactor import STOP_SIGNALS
from mpflow.recall import ANALYSIS, Memory, Spill, Tail
from mpflow.runner import StageRunner
from mpflow.shm import Bell, Order, Ring, Segment, arm
from mpflow.sinkrunner import SinkRunner, open_book
from mpflow.sourcerunner import SourceRunner
from mpflow.spec import (
    BEGINNING,
    JobSpec,
    Place,
    SinkSummary,
    SourceSummary,
    name_in_parts,
)
from mpflow.stage import Job, Sink, Source, Stage, StageContext
from mpflow.workerlog import adopt_stderr, channel_logger, set_name
from mpflow.workerstart import WorkerStart


def main(start: WorkerStart) -> None:
    """Run a worker to its end; exits with 1 after an error that it has reported."""
    arm(start.descriptors["death"])
    if not start.core_dumps:
        forbid_core_dumps()
    # a signal to the whole group is meant for the supervisor, which ends its workers in order
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    adopt_stderr(start.descriptors["stderr"])
    set_name(f"mpf:{start.plan.label}")
    channel = Channel.adopt(start.descriptors["channel"])
    try:
        Worker(start, channel).serve()
    except PeerLost:
        sys.exit(1)


class Worker:
    """One stage, kept open from job to job."""

    def __init__(self, start: WorkerStart, channel: Channel) -> None:
        self._plan = start.plan
        self._channel = channel
        self._log = channel_logger(channel, start.log_level)
        self._context = StageContext(
            name=start.plan.spec.name,
            worker=start.plan.number,
            workers=start.plan.spec.workers,
            threads=start.threads,
            offline=start.offline,
            log=self._log,
            report=lambda key, value: channel.send("fact", key=key, value=value),
            warn=lambda text: channel.send("warning", text=text),
            building=self._building,
            waiting=self._waiting,
            count=self._count,
            alert=lambda kind, text: channel.send("alert", what=kind, text=text, frame=-1),
            leaving=self._leaving,
        )
        self._meter: Meter | None = None
        self._orders: Orders | None = None
        self._batching = Batching()
        self._early: Counter[str] = Counter()

    def serve(self) -> None:
        """Open the stage, then answer orders until ``quit``."""
        with self._reporting("start"):
            stage = build(self._plan.spec, self._context)
            stage.open()
            self._tuning = Tuning(stage.options)
            demand = demand_of(stage)
        self._channel.send("ready", demand=msgspec.to_builtins(demand))
        while True:
            received = self._channel.receive()
            if received is None:
                continue
            message, descriptors = received
            match message["kind"]:
                case "probe":
                    self._probe(stage, message)
                case "begin":
                    self._job(stage, msgspec.convert(message["task"], Task), descriptors)
                case "end":
                    self._channel.send("idle")
                case "quit":
                    stage.close()
                    return

    def _probe(self, stage: AnyStage, message: Message) -> None:
        assert isinstance(stage, Source)
        try:
            media = stage.probe(msgspec.convert(message["job"], JobSpec))
        except Exception as error:  # noqa: BLE001 - reported to the supervisor, whatever it is
            self._channel.send("failed", phase="probe", error=errors.to_wire(error))
            return
        self._channel.send("media", media=msgspec.to_builtins(media))

    def _job(self, stage: AnyStage, task: Task, descriptors: list[int]) -> None:
        plan = self._plan
        segment_fd, log_fd, *bell_fds = descriptors
        sound = bell_fds.pop() if len(bell_fds) > plan.stages else -1
        segment = Segment.attach(segment_fd)
        os.close(segment_fd)
        bells = [Bell(fd) for fd in bell_fds]
        try:
            ring = Ring(segment, bells, stage=plan.stage, worker=plan.id, order=_order_of(stage))
            self._meter = meter = Meter(segment, plan.id)
            for counter, more in self._early.items():
                meter.count(counter, more)
            self._early.clear()
            self._orders = orders = Orders(self._channel, task.helm)
            video = task.media.video
            desk = Desk.at(plan.spec.name, ring, meter, orders, video, number=plan.number)
            self._run(stage, task, desk, log_fd, sound)
        finally:
            self._meter = self._orders = None
            os.close(log_fd)
            if sound >= 0:
                os.close(sound)
            segment.close()
            for bell in bells:
                bell.close()
        self._channel.send("idle")

    def _run(self, stage: AnyStage, task: Task, desk: Desk, log: int, sound: int) -> None:
        job = Job(task.job, task.media, sound)
        if isinstance(stage, Stage):
            stage.room = task.rules.holds
        try:
            with self._building() if task.job.resume else contextlib.nullcontext():
                stage.begin(job)
        except Exception as error:  # noqa: BLE001 - reported to the supervisor, whatever it is
            self._channel.send("failed", phase="begin", error=errors.to_wire(error))
            desk.orders.wait_over()
            return
        kept = stage.kept if isinstance(stage, Sink) else BEGINNING
        restartable = isinstance(stage, Sink) and stage.restartable
        self._channel.send("begun", place=msgspec.to_builtins(kept), restartable=restartable)
        place = desk.orders.wait_to_go() if task.wait else kept
        with self._reporting("run"):
            if place is not None:
                self._loop(stage, task, job, desk, place, log)
            elif isinstance(stage, Sink):  # the run is over before it could go on
                summary = stage.finish(complete=False)
                self._channel.send("finished", summary=msgspec.to_builtins(summary))
            desk.orders.wait_over()
            if isinstance(stage, Stage):
                stage.end()

    def _loop(  # noqa: PLR0913, PLR0917 - one value for each thing that a loop needs
        self, stage: AnyStage, task: Task, job: Job, desk: Desk, place: Place, log: int
    ) -> None:
        match stage:
            case Source():
                runs = LiveSourceRunner if task.rules.live else SourceRunner
                runs(desk, stage, job, task.ops, task.rules).run(place, self._say_ended)
            case Stage():
                memory = Memory()
                if stage.remembers:
                    known = Tail() if task.rules.live else AnalysisLog(log)
                    memory = Memory(desk.name, known, whole=task.job.analysed)
                rules = task.rules
                if stage.marks_faces and rules.on_failure == "pass":
                    rules = msgspec.structs.replace(rules, on_failure="mask")
                heed = Heed(desk, stage, rules, self._tuning)
                StageRunner(desk, stage, job, rules, memory, self._batching, heed).run()
            case Sink():
                parts = _parts_of(stage, task.job)
                kept = name_in_parts(task.job, ANALYSIS)
                spill = Spill(log, parts / kept) if parts and task.remembers else None
                book = open_book(task, desk, parts, place)
                wrote = self._sink(stage, SinkRunner(desk, book, task, place, spill))
                self._channel.send("finished", summary=msgspec.to_builtins(wrote))

    def _say_ended(self, summary: SourceSummary) -> None:
        self._channel.send("ended", summary=msgspec.to_builtins(summary))

    def _sink(self, sink: Sink[Any], runner: SinkRunner) -> SinkSummary:
        """Run the sink; when it fails, close what it has written before the error is reported."""
        try:
            return runner.run(sink)
        except Exception:
            with contextlib.suppress(Exception):
                summary = runner.close(sink.finish(complete=False))
                self._channel.send("salvaged", summary=msgspec.to_builtins(summary))
            raise

    def _waiting(self) -> contextlib.AbstractContextManager[None]:
        """What a stage enters while it waits for the world outside."""
        return contextlib.nullcontext() if self._meter is None else self._meter.outside()

    def _count(self, counter: str, more: int) -> None:
        """Add to a counter of the job; what is counted before there is one goes to the first."""
        if self._meter is not None:
            self._meter.count(counter, more)
        else:
            self._early[counter] += more

    def _leaving(self) -> bool:
        """Whether the job is to end; looks for orders. Before a job, any order means that."""
        if self._orders is None:
            return bool(select.select([self._channel], [], [], 0)[0])
        self._orders.read()
        return self._orders.leave

    def _building(self) -> contextlib.AbstractContextManager[None]:
        """What a stage enters for work that takes long; before a job there is nobody to tell."""
        return contextlib.nullcontext() if self._meter is None else self._meter.building()

    @contextlib.contextmanager
    def _reporting(self, phase: str) -> Iterator[None]:
        """Report any exception to the supervisor, then leave with status 1: what the stage
        left behind is unknown, so a fresh process takes its place.

        Who leaves of its own accord, or has no memory left, is as good as dead: it is replaced.
        """
        try:
            yield
        except (PeerLost, SystemExit):
            raise
        except MemoryError:
            traceback.print_exc()
            sys.exit(1)
        except BaseException as error:  # noqa: BLE001 - reported to the supervisor, whatever it is
            self._channel.send("failed", phase=phase, error=errors.to_wire(error))
            sys.exit(1)


def _order_of(stage: AnyStage) -> Order:
    """Stages with memory, and the sink, take frames in their order; the others what is oldest."""
    ordered = isinstance(stage, Sink) or (isinstance(stage, Stage) and stage.ordered)
    return Order.WATERMARK if ordered else Order.LOWEST


def _parts_of(sink: Sink[Any], job: JobSpec) -> Path | None:
    """The folder of parts, if the sink keeps one."""
    parts = Path(job.parts) if job.parts else None
    return parts if parts is not None and sink.restartable and parts.is_dir() else None
