"""A snapshot in the text format that Prometheus reads.

Counters begin at zero with each job, which Prometheus takes for a restart. Times are those of the
snapshot's window, as gauges with a ``quantile`` label, and those of the whole job as histograms;
nothing names an input, an output or a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from mpflow._version import __version__
from mpflow.accounts import Spread
from mpflow.snapshot import BUCKET_EDGES_S, Buckets, Snapshot, StageView, WorkerView
from mpflow.tokens import Mode

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def prometheus_text(snapshot: Snapshot) -> bytes:
    """All metrics of one snapshot."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once(snapshot))
    return generate_latest(registry)


class _Once(Collector):
    """A collector of what is known already."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield from _run(self._snapshot)
        yield from _stages(self._snapshot.stages)
        yield from _workers(self._snapshot.workers)


def _run(now: Snapshot) -> Iterator[Metric]:
    yield InfoMetricFamily(
        "mpflow_run",
        "The run and its preset",
        value={"run": now.run, "name": now.name, "preset": now.preset, "version": __version__},
    )
    yield _counter("frames", "Frames that reached the end", now.frames)
    yield _counter("frames_dropped", "Frames shed because they came too late", now.dropped)
    yield _counter("frames_missed", "Pictures that found no room in the ring", now.missed)
    yield _counter("frames_degraded", "Frames made with less than was asked", now.degraded)
    yield _counter("frames_damaged", "Packets and pictures lost to damage", now.damaged)
    yield _counter("worker_restarts", "Workers that were replaced", now.restarts)
    yield _counter("reconnects", "Connections made anew", now.reconnects)
    alerts = CounterMetricFamily("mpflow_alerts", "Alerts by kind", labels=["kind"])
    for kind, count in now.alerts.items():
        alerts.add_metric([kind], count)
    yield alerts
    yield _gauge("frame_rate", "Frames a second that reach the end", now.rate)
    yield _spread("age_seconds", "From a frame's arrival to its output", now.age)
    ages = HistogramMetricFamily("mpflow_frame_age_seconds", "The same, of the whole job")
    ages.add_metric([], _edges(now.ages), now.ages.total)
    yield ages
    yield _gauge("idle_ratio", "Share of frames' time in which nobody worked on them, 0..1",
                 now.idle_ratio)  # fmt: skip
    yield _gauge("slots", "Places in the frame ring", now.slots)
    yield _gauge("slots_free", "Free places in the frame ring", now.free)
    yield _gauge("memory_bytes", "Memory of all processes and the ring", now.memory)
    yield _gauge("memory_used_ratio", "Of the machine, or of the cgroup's limit", now.memory_share)
    yield _gauge("cpu_used_ratio", "Of the machine, or of the cgroup's quota", now.cpu_share)
    yield _gauge("uptime_seconds", "Since the run began", now.uptime)
    yield _gauge("healthy", "1: every stage is there and frames move", now.healthy)
    yield _gauge("ladder_level", "Rungs of the ladder of degradations in force", now.level)
    mode = GaugeMetricFamily("mpflow_mode", "1 for the mode the run is in", labels=["mode"])
    for each in Mode:
        mode.add_metric([each], each == now.mode)
    yield mode


def _stages(stages: tuple[StageView, ...]) -> Iterator[Metric]:
    for name, (text, read) in _STAGE_GAUGES.items():
        gauge = GaugeMetricFamily(f"mpflow_stage_{name}", text, labels=["stage"])
        for stage in stages:
            gauge.add_metric([stage.name], read(stage))
        yield gauge
    for name, (text, read) in _STAGE_COUNTERS.items():
        counter = CounterMetricFamily(f"mpflow_stage_{name}", text, labels=["stage"])
        for stage in stages:
            counter.add_metric([stage.name], read(stage))
        yield counter
    for name, (text, spread) in _STAGE_SPREADS.items():
        family = GaugeMetricFamily(f"mpflow_stage_{name}", text, labels=["stage", "quantile"])
        for stage in stages:
            for share, value in _quantiles(spread(stage)):
                family.add_metric([stage.name, share], value)
        yield family
    work = HistogramMetricFamily(
        "mpflow_stage_work_seconds", "Work on a frame, of the whole job", labels=["stage"]
    )
    for stage in stages:
        work.add_metric([stage.name], _edges(stage.services), stage.services.total)
    yield work


def _edges(buckets: Buckets) -> list[tuple[str, float]]:
    """Cumulative counts by upper edge, as Prometheus wants them."""
    below = buckets.below or (0,) * len(BUCKET_EDGES_S)
    edges = [(f"{edge:.9g}", float(n)) for edge, n in zip(BUCKET_EDGES_S, below, strict=True)]
    return [*edges, ("+Inf", float(buckets.count))]


def _workers(workers: tuple[WorkerView, ...]) -> Iterator[Metric]:
    for name, (text, read) in _WORKER_GAUGES.items():
        gauge = GaugeMetricFamily(f"mpflow_worker_{name}", text, labels=["stage", "worker"])
        for worker in workers:
            gauge.add_metric([worker.stage, worker.label], read(worker))
        yield gauge
    for name, (text, read) in _WORKER_COUNTERS.items():
        counter = CounterMetricFamily(f"mpflow_worker_{name}", text, labels=["stage", "worker"])
        for worker in workers:
            counter.add_metric([worker.stage, worker.label], read(worker))
        yield counter


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(f"mpflow_{name}", text, value=value)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"mpflow_{name}", text, value=value)


def _spread(name: str, text: str, spread: Spread) -> Metric:
    family = GaugeMetricFamily(f"mpflow_{name}", text, labels=["quantile"])
    for share, value in _quantiles(spread):
        family.add_metric([share], value)
    return family


def _quantiles(spread: Spread) -> Iterator[tuple[str, float]]:
    yield "0.5", spread.p50
    yield "0.95", spread.p95
    yield "0.99", spread.p99


_STAGE_GAUGES: dict[str, tuple[str, Callable[[StageView], float]]] = {
    "workers": ("Workers at work", lambda stage: stage.workers),
    "threads": ("Threads of each worker", lambda stage: stage.threads),
    "depth": ("Frames that wait for the stage", lambda stage: stage.depth),
    "held": ("Frames its workers have", lambda stage: stage.held),
    "high_water": ("Largest depth of the job", lambda stage: stage.high_water),
    "oldest_seconds": ("Age of the oldest frame that waits", lambda stage: stage.oldest),
    "frame_rate": ("Frames a second", lambda stage: stage.rate),
    "batch_size": ("Mean frames in a batch", lambda stage: stage.batch),
    "busy_ratio": ("Share of time at work, by worker", lambda stage: stage.busy_ratio),
    "idle_ratio": ("Share of frames' time here without work", lambda stage: stage.idle_ratio),
}
_STAGE_COUNTERS: dict[str, tuple[str, Callable[[StageView], float]]] = {
    "frames": ("Frames given on", lambda stage: stage.frames),
    "frames_shed": ("Frames shed by the stage", lambda stage: stage.shed),
    "frames_degraded": ("Frames made with less than was asked", lambda stage: stage.degraded),
}
_STAGE_SPREADS: dict[str, tuple[str, Callable[[StageView], Spread]]] = {
    "service_seconds": ("How long a frame was worked on", lambda stage: stage.service),
    "waited_seconds": ("How long a frame waited before that", lambda stage: stage.waited),
}
_WORKER_GAUGES: dict[str, tuple[str, Callable[[WorkerView], float]]] = {
    "memory_bytes": ("Memory of its own", lambda worker: worker.memory),
    "busy_ratio": ("Share of time at work", lambda worker: worker.busy_ratio),
    "cpu_ratio": ("Cores in use", lambda worker: worker.cpu_ratio),
    "batch_limit": ("Largest batch it takes", lambda worker: worker.batch_limit),
    "active": ("1: it takes frames", lambda worker: worker.active),
}
_WORKER_COUNTERS: dict[str, tuple[str, Callable[[WorkerView], float]]] = {
    "frames": ("Frames given on", lambda worker: worker.frames),
    "batches": ("Batches worked on", lambda worker: worker.batches),
    "busy_seconds": ("Time at work", lambda worker: worker.busy),
    "waiting_seconds": ("Time without work", lambda worker: worker.waiting),
    "cpu_seconds": ("Time on the processor", lambda worker: worker.cpu),
}
