"""What a program asks of ``mpflow.run`` beside input and output: a range, tokens, a timeline."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from clips import make

import mpflow
from mpflow.errors import ConfigError, OutputError


def spec(folder: Path, **more: object) -> mpflow.RunSpec:
    source = folder / "in.mp4"
    if not source.exists():
        make(source)
    return mpflow.RunSpec(source, folder / "out.mp4", "passthrough", **more)  # type: ignore[arg-type]


def test_a_range_has_its_frames_its_tokens_and_its_timeline(tmp_path: Path) -> None:
    files = {"tokens": tmp_path / "tokens.jsonl", "trace": tmp_path / "trace.json"}
    report = mpflow.run(spec(tmp_path, start=10, stop=20, **files))
    assert report.ledger is not None
    assert (report.ledger.frames, report.ledger.delivered) == (10, 10)
    assert report.latency is not None
    assert report.latency.whole.count == 10
    assert [stage.latency is not None for stage in report.stages] == [True, True]
    tokens = [json.loads(line) for line in files["tokens"].read_text().splitlines()]
    assert [token["frame"] for token in tokens] == list(range(10)), "counted from the job's first"
    assert tokens[0]["time"] == pytest.approx(10 / 30)
    assert json.loads(files["trace"].read_text())


@pytest.mark.parametrize(("start", "stop"), [(5, 5), (5, 3), (-1, 3), (-1, None)])
def test_a_range_without_frames_is_wrong_usage(
    tmp_path: Path, start: int, stop: int | None
) -> None:
    with pytest.raises(ConfigError, match=f"start={start}, stop={stop} is no range"):
        mpflow.run(spec(tmp_path, start=start, stop=stop))


def test_a_timeline_never_replaces_the_input(tmp_path: Path) -> None:
    source = make(tmp_path / "in.mp4").rename(tmp_path / "in.dat")
    wrong = mpflow.RunSpec(source, tmp_path / "out.mp4", "passthrough", trace=source)
    with pytest.raises(OutputError, match="same file as input"):
        mpflow.run(wrong)
