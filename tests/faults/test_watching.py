"""A run that goes on is seen and steered from outside: by its socket, and over HTTP."""

from __future__ import annotations

import json
import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from runs import foreign, job_in, pipeline_of, run_once, trap

from mpflow import rundir
from mpflow.errors import ConfigError, Interrupted
from mpflow.requests import (
    Answer,
    Hello,
    Identity,
    Request,
    SetMode,
    Skip,
    Stats,
    Stop,
    pack,
    read_answer,
)
from mpflow.session import JobResult
from mpflow.snapshot import Snapshot


class Watched:
    """A run in another thread, its port, and a connection to it."""

    def __init__(self, folder: Path, pool: ThreadPoolExecutor) -> None:
        self.port = free_port()
        spec = pipeline_of(
            folder,
            foreign("Numbers", frames=100_000),
            trap("Paint", delay_ms=5),
            "Tally",
            name="door",
            metrics=f"127.0.0.1:{self.port}",
        )
        self.done: Future[JobResult] = pool.submit(run_once, spec, job_in(folder))
        self.client = self._connected()

    def ask(self, request: Request) -> Answer:
        self.client.send(pack(request))
        return read_answer(self.client.recv(1 << 18))

    def hello(self) -> Identity:
        hello = self.ask(Hello()).hello
        assert hello is not None
        return hello

    def seen_once(self, frames: int) -> Snapshot:
        """The first look at which so many frames have come to the end."""
        while True:
            seen = self.ask(Stats()).snapshot
            if seen is not None and seen.frames >= frames and seen.age.count:
                return seen
            time.sleep(0.05)  # nothing tells of the next look

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def _connected(self) -> socket.socket:
        while not (found := sockets_of_this_test()):
            assert not self.done.done(), self.done.result()
            time.sleep(0.05)  # the supervisor is being started
        return rundir.connect(found[0])


def sockets_of_this_test() -> list[Path]:
    """Other runs of the tester's, which lie in /tmp, are none of its business."""
    ours = os.environ["XDG_RUNTIME_DIR"]
    return [path for path in rundir.sockets() if path.is_relative_to(ours)]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    pool = ThreadPoolExecutor(1)
    made = Watched(tmp_path, pool)
    yield made
    if not made.done.done():
        made.client.send(pack(Stop()))
    made.client.close()
    pool.shutdown()


def test_a_run_is_seen_steered_and_stopped_from_outside(watched: Watched) -> None:
    hello = watched.hello()
    assert (hello.name, hello.live) == ("door", False)
    seen = watched.seen_once(frames=20)
    assert (seen.state, seen.healthy, seen.trouble) == ("running", True, "")
    assert seen.pid == hello.pid and seen.rate > 0 and seen.slots > seen.free
    paint = next(stage for stage in seen.stages if stage.name == "paint")
    assert paint.service.count and paint.busy_ratio > 0
    assert all(worker.pid and worker.memory > 1 << 20 for worker in seen.workers)

    status, text = watched.get("/metrics")
    assert status == 200 and 'mpflow_stage_frames_total{stage="paint"}' in text
    status, text = watched.get("/health")
    assert status == 200 and json.loads(text)["name"] == "door"

    with pytest.raises(ConfigError, match="no stage 'paintt'"):
        watched.ask(Skip("paintt"))
    assert watched.ask(SetMode("single")).text
    assert watched.ask(Stop()).text
    result = watched.done.result()
    assert isinstance(result.error, Interrupted)
    assert result.report.advice and result.report.leases_left == 0
    assert not sockets_of_this_test()
