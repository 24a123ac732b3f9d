"""Snapshots as a pipeline of two stages would make them."""

from __future__ import annotations

from mpflow.accounts import Spread
from mpflow.snapshot import Snapshot, StageView, WorkerView
from mpflow.tokens import Mode


def spread(milliseconds: float, count: int = 100) -> Spread:
    seconds = milliseconds / 1000
    return Spread(count, seconds, seconds, 2 * seconds, 3 * seconds, 4 * seconds, 5 * seconds)


def stage_view(name: str, busy: float = 0.5, **other: object) -> StageView:
    values: dict[str, object] = {
        "name": name, "workers": 1, "seats": 2, "auto": True, "threads": 1, "depth": 3, "held": 1,
        "oldest": 0.25, "high_water": 9, "frames": 120, "rate": 29.5, "batch": 4.0,
        "busy_ratio": busy, "idle_ratio": 0.6, "service": spread(10), "waited": spread(15),
        "shed": 2, "degraded": 0,
    }  # fmt: skip
    return StageView(**{**values, **other})  # type: ignore[arg-type]


def worker_view(label: str, stage: str, **other: object) -> WorkerView:
    values: dict[str, object] = {
        "label": label, "stage": stage, "pid": 4242, "state": "busy", "doing": "working",
        "active": True, "frames": 120, "batches": 30, "busy": 8.5, "waiting": 1.5,
        "busy_ratio": 0.85, "cpu": 8.0, "cpu_ratio": 0.8, "memory": 123456789, "batch_limit": 4,
        "restarts": 1,
    }  # fmt: skip
    return WorkerView(**{**values, **other})  # type: ignore[arg-type]


def snapshot_of(**other: object) -> Snapshot:
    values: dict[str, object] = {
        "run": "5c1f09ab", "name": "front door", "pid": 4711, "job": "1", "preset": "live-redact",
        "state": "running", "time": 1764505412.25, "uptime": 12.5, "window": 10.0, "live": True,
        "mode": Mode.SINGLE_FRAME, "level": 1, "notes": ("detect.every=2",), "reason": "backlog",
        "slots": 16, "free": 11, "frames": 300, "total": None, "rate": 29.5, "dropped": 7,
        "missed": 1, "degraded": 30, "damaged": 0, "restarts": 1, "reconnects": 2,
        "age": spread(100), "idle_ratio": 0.58, "bottleneck": "detect is the limit",
        "memory": 1 << 28, "memory_share": 0.4, "cpu_share": 0.9, "healthy": True, "trouble": "",
        "stages": (stage_view("detect"), stage_view("send", 0.2)),
        "workers": (worker_view("detect/0", "detect"), worker_view("send", "send")),
        "alerts": {"p99": 1},
    }  # fmt: skip
    return Snapshot(**{**values, **other})  # type: ignore[arg-type]
