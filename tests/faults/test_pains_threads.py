"""Thread counts sized to the host, not to the affinity or the cgroup: each worker's are looked at.

A thread counts once it has done a tenth of its process's work, and more than a tick of the clock:
some libraries start one that nearly always sleeps.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from clips import Clip, make
from commands import command_line
from groups import cpu_group, within
from runs import family

from mpflow.models.store import ModelStore

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
LEAST_SHARE = 0.1
WORKERS = ("mpf:decode", "mpf:detect", "mpf:redact", "mpf:encode")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough pixels that every thread there is gets something to do."""
    film = Clip(pts=range(60), size=(1280, 720), options={"preset": "ultrafast"})
    return make(tmp_path_factory.mktemp("clips") / "film.mp4", film)


@pytest.fixture
def one_cpu_by_affinity() -> list[str]:
    return ["taskset", "-c", str(min(os.sched_getaffinity(0)))]


@pytest.fixture
def one_cpu_by_quota() -> Iterator[list[str]]:
    with cpu_group(cores=1) as group:
        yield within(group)


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["one_cpu_by_affinity", "one_cpu_by_quota"])
def test_on_one_cpu_no_library_of_any_worker_works_with_more_than_one_thread(
    request: pytest.FixtureRequest, model_store: ModelStore, clip: Path, tmp_path: Path, limit: str
) -> None:
    model_store.path("yunet")
    wrapper = request.getfixturevalue(limit)
    words = ("run", clip, "-o", tmp_path / "out.mp4", "--preset", "redact", "--device", "cpu")
    run = subprocess.Popen(
        [*wrapper, *command_line(*words)], stderr=subprocess.PIPE, text=True, env=environment()
    )
    busy = dict.fromkeys(WORKERS, 0)
    while run.poll() is None:
        for process in family(run.pid):
            note_threads(process, busy)
        wait_a_little(run)
    assert run.stderr is not None
    told = run.stderr.read()
    run.stderr.close()
    assert run.returncode == 0, told
    assert busy == dict.fromkeys(WORKERS, 1)


def note_threads(process: psutil.Process, busy: dict[str, int]) -> None:
    """Remember the most threads of a worker that have worked."""
    try:
        name = process.name()
        if name in busy:
            times = [thread.user_time + thread.system_time for thread in process.threads()]
            least = max(TICK_S, LEAST_SHARE * sum(times))
            busy[name] = max(busy[name], sum(time > least for time in times))
    except psutil.Error:
        return


def wait_a_little(run: subprocess.Popen[str]) -> None:
    try:
        run.wait(0.02)
    except subprocess.TimeoutExpired:
        return


def environment() -> dict[str, str]:
    """No setting of the tester's decides about threads."""
    return {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
