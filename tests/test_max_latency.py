"""What an owner sets max_latency to counts on frames' cards, for alerts, and for all workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from runs import pipeline_of, trap
from snapshots import snapshot_of

from mpflow import wire
from mpflow.accounts import Spread
from mpflow.channel import Channel
from mpflow.desk import Desk
from mpflow.errors import ConfigError
from mpflow.helmsman import Helmsman
from mpflow.livesource import LiveSourceRunner
from mpflow.metrics import Meter
from mpflow.notices import Notices
from mpflow.orders import Orders
from mpflow.requests import Set
from mpflow.shm import Bell, Geometry, Ring, Segment
from mpflow.spec import BEGINNING, Helm, Job, JobSpec, MediaInfo, Rules, VideoInfo
from mpflow.stage import Picture
from mpflow.steering import Steering
from mpflow.survey import Survey
from mpflow.trouble import Trouble
from mpflow.wheel import Wheel

VIDEO = VideoInfo(0, "x", 16, 16, "gray", "gray", (1, 1000))
JOB = Job(JobSpec("1", "camera", live=True), MediaInfo("camera", "x", VIDEO))
MOMENT = Spread(count=100, mean=1.0, p50=1.0, p90=1.0, p95=1.0, p99=1.0, max=1.0)


class Run:
    """The steering of a run, and what its alerts were."""

    def __init__(self, folder: Path, *, is_live: bool) -> None:
        self.ends = Channel.pair()
        ends = [{"stage": f"live_traps:{name}"} for name in ("Camera", "Screen")]
        spec = pipeline_of(folder, ends[0], trap("Paint"), ends[1], live=True)
        self.spec = msgspec.structs.replace(spec, live=is_live, max_latency=2.0)
        self.trouble = Trouble(Notices(self.ends[0]), self.spec, "run")
        survey = Survey("run", self.spec, 4)
        self.steering = Steering(self.spec, Wheel(self.spec), survey, self.trouble, 4)
        self.helmsman = Helmsman(self.steering, lambda: None)

    def set(self, seconds: str) -> str:
        said: list[Any] = []
        self.helmsman.steer(Set("max_latency", seconds), said.append)
        return str(said[0].text)


@pytest.fixture
def live_run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path, is_live=True)
    yield run
    for end in run.ends:
        end.close()


def test_workers_hear_of_it(live_run: Run) -> None:
    assert live_run.set("0.5") == "max_latency is 0.5 s from now on"
    assert live_run.steering._helm().max_latency == 0.5


@pytest.mark.parametrize(("seconds", "alerts"), [("0.5", 1), ("2.5", 0)])
def test_the_alert_for_old_frames_follows_it(live_run: Run, seconds: str, alerts: int) -> None:
    live_run.set(seconds)
    seen = msgspec.structs.replace(snapshot_of(), age=MOMENT)
    for second in range(10):
        live_run.steering._watch_age(seen, float(second))
    assert live_run.trouble.counts.get("p99", 0) == alerts


def test_it_is_refused_where_no_frame_comes_too_late(tmp_path: Path) -> None:
    run = Run(tmp_path, is_live=False)
    with pytest.raises(ConfigError, match="no frame comes too late"):
        run.set("0.5")
    for end in run.ends:
        end.close()


@pytest.mark.parametrize(("helm", "seconds"), [(Helm(), 2), (Helm(max_latency=5.0), 5)])
def test_frames_have_it_on_their_cards(helm: Helm, seconds: int) -> None:
    segment = Segment.create(Geometry(4, 4096, stages=3, workers=3))
    bells = [Bell.create() for _ in range(3)]
    ours, theirs = Channel.pair()
    ring = Ring(segment, bells, stage=0, worker=0)
    desk = Desk.at("camera", ring, Meter(segment, 0), Orders(theirs, helm), VIDEO, number=0)
    picture = Picture(0, (1, 1000), 10, True, lambda frame: None, arrived=time.monotonic_ns())
    source: Any = SimpleNamespace(pictures=lambda place: [picture], damaged=0)
    rules = Rules(live=True, max_latency=2.0)
    runner = LiveSourceRunner(desk, source, JOB, ("paint",), rules)
    runner._stream_from(BEGINNING)
    lease = Ring(segment, bells, stage=1, worker=1).take()
    assert lease is not None
    token = wire.unpack(lease.token)
    assert token.deadline == token.born + seconds * 1_000_000_000
    for each in (segment, ours, theirs, *bells):
        each.close()
