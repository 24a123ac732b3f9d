"""The Python door to live runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mpflow
from mpflow.errors import ConfigError, InputError, OutputError

PRESET = """
live: true
stages:
  - stage: live_traps:Camera
    options: {frames: 40, fps: 200}
  - stage: live_traps:Screen
"""


@pytest.fixture
def spec(tmp_path: Path) -> mpflow.RunSpec:
    preset, camera = tmp_path / "live.yaml", tmp_path / "camera.ts"
    preset.write_text(PRESET)
    camera.touch()
    return mpflow.RunSpec(camera, tmp_path / "out.ts", preset=str(preset))


def changed(spec: mpflow.RunSpec, **other: object) -> mpflow.RunSpec:
    values = {name: getattr(spec, name) for name in spec.__struct_fields__}
    return mpflow.RunSpec(**{**values, **other})  # type: ignore[arg-type]


def test_a_stream_is_carried_and_accounted_for(spec: mpflow.RunSpec) -> None:
    report = mpflow.run(spec)
    assert report.live
    assert report.ledger is not None
    assert report.ledger.frames + report.missed == 40
    shown = [json.loads(line)["seq"] for line in Path(spec.output).read_text().splitlines()]
    assert len(shown) == report.ledger.delivered
    with pytest.raises(OutputError, match="exists already"):
        mpflow.run(spec)


def test_the_frames_of_a_stream_can_be_taken_one_by_one(spec: mpflow.RunSpec) -> None:
    with mpflow.Pipeline(changed(spec, output="")) as pipeline:
        taken = [token.seq for token, _ in pipeline]
    assert taken == sorted(taken)
    assert pipeline.report is not None
    assert len(taken) + pipeline.report.missed <= 40


def test_ends_that_cannot_be_are_refused_before_anything_starts(
    spec: mpflow.RunSpec, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="srt"):
        mpflow.run(changed(spec, input="srt://127.0.0.1:9000"))
    with pytest.raises(OutputError, match="names no port"):
        mpflow.run(changed(spec, output="udp://127.0.0.1"))
    mixed = tmp_path / "mixed.yaml"
    mixed.write_text("live: true\nstages: [{stage: decode}, {stage: encode}]")
    with pytest.raises(ConfigError, match="decode is no end of one"):
        mpflow.run(changed(spec, preset=str(mixed)))
