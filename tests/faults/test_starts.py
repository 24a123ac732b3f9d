"""A worker that is gone before anybody could watch it is named with its end, like any other."""

from __future__ import annotations

import os
import signal

import pytest

from mpflow import launch
from mpflow.errors import StageDied
from mpflow.graph import plan_workers
from mpflow.spec import PipelineSpec, StageSpec


def test_a_worker_killed_before_it_is_watched_is_named_with_its_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = PipelineSpec("test", (StageSpec("read", "nowhere:Read"), StageSpec("w", "nowhere:W")))
    launcher = launch.Launcher(spec, cores=1)
    plan = plan_workers(spec)[0]

    class Missed:
        """The system calls of a supervisor that was away while a worker died and was reaped."""

        def __getattr__(self, name: str) -> object:
            return getattr(os, name)

        def pidfd_open(self, pid: int) -> int:
            watched = os.pidfd_open(pid)
            signal.pidfd_send_signal(watched, signal.SIGKILL)
            with os.fdopen(watched):
                raise ProcessLookupError(3, "No such process")

    monkeypatch.setattr(launch, "os", Missed())
    with pytest.raises(StageDied) as refusal:
        launcher.start(plan)
    launcher.close()
    assert "stage read could not be started: it ended at once, by SIGKILL" in refusal.value.what
    assert refusal.value.facts["signal"] == "SIGKILL"
    assert refusal.value.facts["pid"]
