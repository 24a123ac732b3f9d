"""Snapshots for the policies' tests: what matters is named, all else is quiet and plausible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from mpflow.accounts import Spread
from mpflow.snapshot import Snapshot, StageView, WorkerView
from mpflow.tokens import Mode

NAMES = ("receive", "detect", "redact", "send")


def spread(seconds: float, count: int = 100, **others: float) -> Spread:
    """The same time for every frame, but for what is named (``p90=0.5``)."""
    times = dict.fromkeys(("mean", "p50", "p90", "p95", "p99", "max"), seconds)
    return Spread(count=count, **{**times, **others})


def _every(seconds: float) -> Spread:
    return spread(seconds) if seconds else Spread()


def stage(name: str, service: float | Spread = 0.0, **changes: Any) -> StageView:
    """One stage with one worker and nothing before it; ``service`` seconds for each frame."""
    view = StageView(
        name=name,
        workers=1,
        seats=1,
        auto=False,
        threads=1,
        depth=0,
        held=0,
        oldest=0.0,
        high_water=0,
        frames=0,
        rate=0.0,
        batch=1.0,
        busy_ratio=0.0,
        idle_ratio=0.0,
        service=service if isinstance(service, Spread) else _every(service),
        waited=Spread(),
        shed=0,
        degraded=0,
    )
    return msgspec.structs.replace(view, **changes)


def worker(stage_name: str, number: int = 0, **changes: Any) -> WorkerView:
    """One worker that is at work and has done nothing yet."""
    view = WorkerView(
        label=f"{stage_name}.{number}",
        stage=stage_name,
        pid=1000 + number,
        state="busy",
        doing="working",
        active=True,
        frames=0,
        batches=0,
        busy=0.0,
        waiting=0.0,
        busy_ratio=0.0,
        cpu=0.0,
        cpu_ratio=0.0,
        memory=0,
        batch_limit=1,
        restarts=0,
    )
    return msgspec.structs.replace(view, **changes)


def snapshot(
    stages: Iterable[StageView] = (),
    workers: Sequence[WorkerView] | None = None,
    *,
    live: bool = True,
    **changes: Any,
) -> Snapshot:
    """A pipeline of these stages (else of a receive, detect, redact and send that rest)."""
    views = tuple(stages) or tuple(stage(name) for name in NAMES)
    crew = tuple(worker(view.name) for view in views) if workers is None else tuple(workers)
    view = Snapshot(
        run="0badcafe",
        name="",
        pid=999,
        job="job",
        preset="live-redact",
        state="running",
        time=0.0,
        uptime=0.0,
        window=10.0,
        live=live,
        mode=Mode.THROUGHPUT,
        level=0,
        notes=(),
        reason="",
        slots=16,
        free=16,
        frames=0,
        total=None,
        rate=0.0,
        dropped=0,
        missed=0,
        degraded=0,
        damaged=0,
        restarts=0,
        reconnects=0,
        age=Spread(),
        idle_ratio=0.0,
        bottleneck="",
        memory=0,
        memory_share=0.3,
        cpu_share=0.3,
        healthy=True,
        trouble="",
        stages=views,
        workers=crew,
    )
    return msgspec.structs.replace(view, **changes)
