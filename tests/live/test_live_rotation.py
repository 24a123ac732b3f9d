"""A stream whose pictures are to be turned comes out upright, in whatever container."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from clips import Clip, make
from runs import run_once

from mpflow.config import resolve
from mpflow.spec import JobSpec

FRAMES = 30


def first_picture(path: Path) -> tuple[np.ndarray, int]:
    """The first picture's luma as it is stored, and how it is to be turned."""
    with av.open(str(path)) as container:
        picture = next(container.decode(container.streams.video[0]))
        return picture.to_ndarray(format="gray"), picture.rotation


@pytest.mark.parametrize("ending", ["ts", "mp4"])
@pytest.mark.parametrize("rotation", [90, 180, -90])
def test_a_turned_input_is_upright_in_a_live_output(
    tmp_path: Path, rotation: int, ending: str
) -> None:
    source, output = tmp_path / "in.mp4", tmp_path / f"out.{ending}"
    make(source, Clip(pts=tuple(range(FRAMES)), rotation=rotation))
    job = JobSpec("1", str(source), str(output), live=True)
    result = run_once(resolve("live-passthrough", environ={}).spec, job)
    assert result.error is None
    stored, turned_by = first_picture(source)
    assert (turned_by - rotation) % 360 == 0
    upright = np.rot90(stored, round(rotation / 90) % 4)
    found, left = first_picture(output)
    assert left == 0
    assert found.shape == upright.shape
    assert np.abs(found.astype(int) - upright).mean() < 12
