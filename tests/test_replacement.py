"""Pictures that are laid over faces: read with their transparency, scaled without a seam."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest

from mpflow.errors import ConfigError
from mpflow.replacement import Replacement, read_picture

RED = (0, 0, 255)


def disc(side: int = 64, alpha: bool = True) -> npt.NDArray[np.uint8]:
    """A red disc, transparent around it."""
    picture = np.zeros((side, side, 4), np.uint8)
    cv2.circle(picture, (side // 2, side // 2), side // 2 - 2, (*RED, 255), cv2.FILLED)
    return picture if alpha else picture[:, :, :3]


@pytest.mark.parametrize("size", [9, 30, 64, 200])
def test_a_picture_fills_its_place_and_keeps_its_transparency(size: int) -> None:
    patch, alpha = Replacement(disc()).patch((20, 10, 20 + size, 10 + size), (0, 0, 240, 220))
    centre = 10 + size // 2, 20 + size // 2
    assert patch.shape == (220, 240, 3) and alpha.shape == (220, 240)
    assert tuple(int(value) for value in patch[centre]) == RED
    assert alpha[centre] == pytest.approx(1)
    assert alpha[10, 20] < 0.35
    assert not alpha[:8].any() and not alpha[:, :18].any() and not alpha[:, 22 + size :].any()
    covered = float(alpha.sum()) / size**2
    assert covered == pytest.approx(float((disc()[:, :, 3] / 255).mean()), abs=0.03)


def test_what_is_half_transparent_keeps_its_own_colour() -> None:
    picture = np.full((40, 40, 4), (10, 200, 90, 128), np.uint8)
    patch, alpha = Replacement(picture).patch((0, 0, 20, 20), (0, 0, 20, 20))
    np.testing.assert_allclose(patch[5:15, 5:15], np.full((10, 10, 3), (10, 200, 90)), atol=2)
    np.testing.assert_allclose(alpha[5:15, 5:15], 128 / 255, atol=0.01)


def test_a_place_covers_a_box_and_keeps_the_pictures_shape() -> None:
    wide = Replacement(np.zeros((50, 100, 3), np.uint8))
    assert wide.place((10, 10, 30, 50)) == (-20, 10, 60, 50)
    assert wide.place((0, 0, 200, 20)) == (0, -40, 200, 60)


def test_a_turned_picture_is_upright_where_frames_are_shown_turned() -> None:
    """Its top is red; a frame that is shown turned once counter-clockwise has its top right."""
    picture = np.zeros((40, 40, 3), np.uint8)
    picture[:20] = RED
    patch, _ = Replacement(picture, 1).patch((0, 0, 40, 40), (0, 0, 40, 40))
    shown = np.rot90(patch, 1)
    assert tuple(int(value) for value in shown[5, 20]) == RED
    assert not shown[35, 20].any()


@pytest.mark.parametrize("kind", ["gray", "gray-16", "bgr", "bgra-16"])
def test_every_kind_of_picture_is_read(tmp_path: Path, kind: str) -> None:
    deep = kind.endswith("16")
    value = 40000 if deep else 156
    shape: Any = {"gray": (20, 30), "bgr": (20, 30, 3), "bgra": (20, 30, 4)}[
        kind.removesuffix("-16")
    ]
    path = tmp_path / "ein Bild.png"
    path.write_bytes(
        cv2.imencode(".png", np.full(shape, value, np.uint16 if deep else np.uint8))[1]
    )
    patch, alpha = Replacement(read_picture(str(path))).patch((0, 0, 30, 20), (0, 0, 30, 20))
    np.testing.assert_allclose(patch[5:15, 5:25], 155, atol=2)
    opaque = 1.0 if kind != "bgra-16" else 40000 / 65535
    np.testing.assert_allclose(alpha[5:15, 5:25], opaque, atol=0.01)


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("none.png", None, "there is no picture"),
        ("empty.png", b"", "is no picture that can be read"),
        ("text.png", b"not a picture at all", "is no picture that can be read"),
        ("clear.png", cv2.imencode(".png", np.zeros((9, 9, 4), np.uint8))[1].tobytes(), "all over"),
        ("folder.png", ..., "there is no picture"),
    ],
)
def test_what_is_no_picture_is_named(tmp_path: Path, name: str, data: Any, says: str) -> None:
    path = tmp_path / name
    if data is ...:
        path.mkdir()
    elif data is not None:
        path.write_bytes(data)
    with pytest.raises(ConfigError, match=says) as caught:
        read_picture(str(path))
    assert name in caught.value.what
    assert caught.value.cure
