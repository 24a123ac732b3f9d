"""A video with made faces is marked in its picture, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpflow.config import resolve
from mpflow.errors import ConfigError


@pytest.mark.parametrize(
    ("stages", "refused"),
    [
        (("decode", "making_stages:Layer", "encode"), "layer"),
        (("decode", "making_stages:Marker", "making_stages:Layer", "encode"), "layer"),
        (("decode", "making_stages:Maker", "making_stages:Layer", "encode"), "layer"),
        (("decode", "making_stages:Layer", "making_stages:Marker", "encode"), ""),
        (("decode", "detect", "making_stages:Layer", "faces-json"), ""),
        (("decode", "encode"), ""),
    ],
)
def test_a_video_with_made_faces_is_marked_or_not_made(
    tmp_path: Path, stages: tuple[str, ...], refused: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"stages: [{', '.join(f'{{stage: {each}}}' for each in stages)}]")
    if not refused:
        resolve(str(path), environ={})
        return
    with pytest.raises(ConfigError, match=rf"makes faces \({refused}\), but does not mark"):
        resolve(str(path), environ={})
