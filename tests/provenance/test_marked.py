"""Where made faces leave, the picture is marked, or the preset refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import mpflow
from mpflow.config import resolve
from mpflow.errors import ConfigError


@pytest.mark.parametrize(
    ("stages", "refused"),
    [
        (("decode", "making_stages:Layer", "encode"), "layer"),
        (("decode", "making_stages:Marker", "making_stages:Layer", "encode"), "layer"),
        (("decode", "making_stages:Maker", "making_stages:Layer", "encode"), "layer"),
        (("decode", "making_stages:Layer", "making_stages:Marker", "encode"), ""),
        (("decode", "detect", "track", "making_stages:Layer", "faces"), "layer"),
        (("decode", "making_stages:Layer", "foreign_stages:Tally"), "layer"),
        (("decode", "detect", "making_stages:Layer", "faces-json"), ""),
        (("decode", "encode"), ""),
    ],
)
def test_made_faces_leave_marked_or_are_not_made(
    tmp_path: Path, stages: tuple[str, ...], refused: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"stages: [{', '.join(f'{{stage: {each}}}' for each in stages)}]")
    if not refused:
        resolve(str(path), environ={})
        return
    with pytest.raises(ConfigError, match=rf"makes faces \({refused}\), but does not mark"):
        resolve(str(path), environ={})


def test_whoever_takes_the_frames_himself_gets_them_marked(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    stages = ("decode", "detect", "making_stages:Layer", "faces-json")
    path.write_text(f"stages: [{', '.join(f'{{stage: {each}}}' for each in stages)}]")
    with pytest.raises(ConfigError, match=r"makes faces \(layer\), but does not mark"):
        mpflow.Pipeline(mpflow.RunSpec(input="in.mp4", preset=str(path)))
