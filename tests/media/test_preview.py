"""A picture of a running stream: what is in it, who may read it, and that it is whole."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from clips import Memory

from mpflow.colour import Colour
from mpflow.errors import ConfigError, OutputError
from mpflow.frame import Frame, PictureLayout
from mpflow.media.preview import write_picture


def red(width: int = 65, height: int = 49, pixels: str = "yuv420p") -> Frame:
    layout = PictureLayout.of(pixels, width, height)
    colour = Colour()
    frame = Frame(layout, Memory(layout.nbytes), colour)
    for plane, value in zip(frame.fill_planes(), colour.yuv((0, 0, 255)), strict=True):
        plane[...] = value
    return frame


@pytest.mark.parametrize("ending", ["png", "jpg", "JPEG"])
def test_a_preview_is_the_whole_frame_for_its_owner_only(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"now.{ending}"
    write_picture(red(), path)
    picture = cv2.imread(str(path))
    assert picture.shape == (49, 65, 3)
    assert np.abs(picture.astype(int) - (0, 0, 255)).max() <= 4
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_preview_replaces_the_one_before_it(tmp_path: Path) -> None:
    path = tmp_path / "now.png"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_picture(red(16, 8), path)
    assert cv2.imread(str(path)).shape == (8, 16, 3)
    assert path.stat().st_mode & 0o777 == 0o600


def test_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no picture's name"):
        write_picture(red(), tmp_path / "now.gif")


def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="nowhere"):
        write_picture(red(), tmp_path / "nowhere" / "now.png")
