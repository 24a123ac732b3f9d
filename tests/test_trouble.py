"""What went wrong goes into the timeline, where there is one, and takes no more room than that."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mpflow import trouble
from mpflow.channel import Channel
from mpflow.diskwatch import DiskWatch
from mpflow.notices import Notices
from mpflow.spec import JobSpec, PipelineSpec
from mpflow.trace import Trace
from mpflow.trouble import Trouble


@pytest.fixture
def told() -> Iterator[Trouble]:
    ours, theirs = Channel.pair()
    yield Trouble(Notices(ours), PipelineSpec("p", ()), "run")
    ours.close()
    theirs.close()


def marks_of(told: Trouble, path: Path, moments: int) -> list[str]:
    """Let so many things happen; their names as the timeline has them."""
    began = time.monotonic_ns()
    told.begin(msgspec.structs.replace(JobSpec("1", "camera"), trace=str(path)))
    Trace(path, began).close()
    for number in range(moments):
        told.steered(f"moment {number}")
    told.conclude(began)
    events: list[dict[str, Any]] = json.loads(path.read_text())
    return [event["name"] for event in events if event["ph"] == "i"]


def test_moments_are_in_the_timeline(told: Trouble, tmp_path: Path) -> None:
    assert marks_of(told, tmp_path / "a.json", 3) == ["moment 0", "moment 1", "moment 2"]
    assert marks_of(told, tmp_path / "b.json", 1) == ["moment 0"]


def test_of_many_moments_the_last_are_kept_and_the_rest_is_counted(
    monkeypatch: pytest.MonkeyPatch, told: Trouble, tmp_path: Path
) -> None:
    found = marks_of(told, tmp_path / "a.json", trouble.MOST_MARKS + 20)
    assert found[0] == "21 moments are left out"
    assert len(found) == trouble.MOST_MARKS
    assert found[1:3] == ["moment 21", "moment 22"]
    assert found[-1] == f"moment {trouble.MOST_MARKS + 19}"


def test_without_a_timeline_no_moment_is_kept(told: Trouble) -> None:
    told.begin(JobSpec("1", "camera", live=True))
    for number in range(100):
        told.steered(f"moment {number}")
    assert not told._marks
    assert told.conclude(0) == {}


def test_a_timeline_does_not_have_what_lets_somebody_in(told: Trouble, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    began = time.monotonic_ns()
    told.begin(JobSpec("1", "camera", trace=str(path)))
    Trace(path, began).close()
    told.steered("'rtmp://host/app/k3y k3y' is back")
    told.conclude(began)
    assert "rtmp://host/app/***' is back" in path.read_text()
    assert "k3y" not in path.read_text()


def test_no_disk_is_watched_for_an_output_in_the_network(
    monkeypatch: pytest.MonkeyPatch, told: Trouble
) -> None:
    watched: list[Path] = []
    monkeypatch.setattr(DiskWatch, "__init__", lambda self, folder, limit: watched.append(folder))
    told.begin(JobSpec("1", "camera", "rtmp://bob:pw@host/app/k3y"))
    assert not watched
    told.begin(JobSpec("1", "camera", "out.ts"))
    assert watched == [Path()]
