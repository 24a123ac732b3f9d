"""A worker process: opens its stage once, then serves one job after another until told to quit.

    start -> ready -> (probe) -> begin -> begun -> ... -> finished -> end -> idle -> ... -> quit

Its standard error goes to the supervisor, it ignores Ctrl-C (the supervisor decides), and the
kernel kills it when the supervisor dies.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import msgspec

from mpflow import errors
from mpflow.channel import Channel, Message
from mpflow.desk import Desk
from mpflow.errors import PeerLost
from mpflow.graph import Demand
from mpflow.importer import AnyStage, build
from mpflow.metrics import Meter
from mpflow.orders import Orders
from mpflow.runner import SourceRunner, StageRunner
from mpflow.shm import Bell, Order, Ring, Segment, arm
from mpflow.sinkrunner import SinkRunner
from mpflow.spec import JobSpec, MediaInfo
from mpflow.stage import Job, Sink, Source, Stage, StageContext
from mpflow.workerstart import WorkerStart

PR_SET_NAME = 15
"""prctl(2): the name that ps -o comm and top show, 15 bytes."""


def main(start: WorkerStart) -> None:
    """Run a worker to its end; exits with 1 after an error that it has reported."""
    arm(start.descriptors["death"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _adopt_stderr(start.descriptors["stderr"])
    _set_name(f"mpf:{start.plan.label}")
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
        self._log = _channel_logger(channel, start.log_level)
        self._context = StageContext(
            name=start.plan.spec.name,
            worker=start.plan.number,
            workers=start.plan.spec.workers,
            threads=start.threads,
            offline=start.offline,
            log=self._log,
            report=lambda key, value: channel.send("fact", key=key, value=value),
            warn=lambda text: channel.send("warning", text=text),
        )

    def serve(self) -> None:
        """Open the stage, then answer orders until ``quit``."""
        with self._reporting("start"):
            stage = build(self._plan.spec, self._context)
            stage.open()
            demand = _demand_of(stage)
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
                    self._job(stage, message, descriptors)
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

    def _job(self, stage: AnyStage, message: Message, descriptors: list[int]) -> None:
        job = Job(
            msgspec.convert(message["job"], JobSpec), msgspec.convert(message["media"], MediaInfo)
        )
        plan = self._plan
        segment_fd, *bell_fds = descriptors
        segment = Segment.attach(segment_fd)
        os.close(segment_fd)
        bells = [Bell(fd) for fd in bell_fds]
        try:
            ring = Ring(segment, bells, stage=plan.stage, worker=plan.id, order=_order_of(stage))
            meter, orders = Meter(segment, plan.id), Orders(self._channel)
            desk = Desk.at(plan.spec.name, ring, meter, orders, job.media.video)
            self._run(stage, job, desk, tuple(message["ops"]))
        finally:
            segment.close()
            for bell in bells:
                bell.close()
        self._channel.send("idle")

    def _run(self, stage: AnyStage, job: Job, desk: Desk, ops: tuple[str, ...]) -> None:
        try:
            stage.begin(job)
        except Exception as error:  # noqa: BLE001 - reported to the supervisor, whatever it is
            self._channel.send("failed", phase="begin", error=errors.to_wire(error))
            desk.orders.wait_over()
            return
        self._channel.send("begun")
        with self._reporting("run"):
            self._loop(stage, desk, job, ops)
            desk.orders.wait_over()
            if isinstance(stage, Stage):
                stage.end()

    def _loop(self, stage: AnyStage, desk: Desk, job: Job, ops: tuple[str, ...]) -> None:
        match stage:
            case Source():
                read = SourceRunner(desk, stage, job.spec.id, ops).run()
                self._channel.send("ended", summary=msgspec.to_builtins(read))
            case Stage():
                StageRunner(desk, stage).run()
            case Sink():
                wrote = self._sink(stage, desk)
                self._channel.send("finished", summary=msgspec.to_builtins(wrote))

    def _sink(self, sink: Sink[Any], desk: Desk) -> Any:
        """Run the sink; when it fails, close what it has written before the error is reported."""
        try:
            return SinkRunner(desk).run(sink)
        except Exception:
            with contextlib.suppress(Exception):
                summary = sink.finish(complete=False)
                self._channel.send("salvaged", summary=msgspec.to_builtins(summary))
            raise

    @contextlib.contextmanager
    def _reporting(self, phase: str) -> Iterator[None]:
        """Report any exception to the supervisor, then leave with status 1: what the stage
        left behind is unknown, so a fresh process takes its place."""
        try:
            yield
        except PeerLost:
            raise
        except BaseException as error:  # noqa: BLE001 - reported to the supervisor, whatever it is
            self._channel.send("failed", phase=phase, error=errors.to_wire(error))
            sys.exit(1)


def _demand_of(stage: AnyStage) -> Demand:
    match stage:
        case Stage():
            return Demand(stage.holds, stage.max_batch, stage.changes_pixels)
        case Sink():
            return Demand(stage.holds)
        case _:
            return Demand()


def _order_of(stage: AnyStage) -> Order:
    """Stages with memory, and the sink, take frames in their order; the others what is oldest."""
    ordered = isinstance(stage, Sink) or (isinstance(stage, Stage) and stage.ordered)
    return Order.WATERMARK if ordered else Order.LOWEST


class _ToSupervisor(logging.Handler):
    """Sends log records over the channel; a frame's number comes as ``extra={"frame": n}``."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(PeerLost):
            self._channel.send(
                "log",
                level=record.levelname.lower(),
                text=self.format(record)[:8192],
                frame=int(getattr(record, "frame", -1)),
                time=time.time(),
            )


def _channel_logger(channel: Channel, level: str) -> logging.Logger:
    logger = logging.getLogger("mpflow")
    logger.handlers = [_ToSupervisor(channel)]
    logger.setLevel(level.upper())
    logger.propagate = False
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").handlers = logger.handlers
    return logger


def _adopt_stderr(descriptor: int) -> None:
    """Let everything written to standard output and error, C libraries included, be gathered."""
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    faulthandler.enable()


def _set_name(name: str) -> None:
    ctypes.CDLL(None).prctl(PR_SET_NAME, name[:15].encode(), 0, 0, 0)
