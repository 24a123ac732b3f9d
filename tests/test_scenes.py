"""Where another scene begins."""

from __future__ import annotations

import numpy as np
import pytest

from mpflow.memory import MemorySlot
from mpflow.scenes import NO_SAMPLE, changed, sample_of, stir

FLAT = np.full((18, 32), 100, np.int16)
OTHER = np.random.default_rng(2).integers(0, 256, FLAT.shape).astype(np.int16)


def slot(value: int, name: str = "yuv420p", size: tuple[int, int] = (64, 48)) -> MemorySlot:
    made = MemorySlot.of(name, *size)
    for plane in made.frame().fill_planes():
        plane[...] = value
    return made


def test_noise_is_the_same_scene_and_another_picture_is_not() -> None:
    noise = np.random.default_rng(1).integers(-6, 7, FLAT.shape, np.int16)
    assert not changed(FLAT, FLAT + noise) and not changed(OTHER, OTHER + noise)
    assert changed(FLAT, OTHER) and changed(OTHER, OTHER[::-1].copy())
    assert changed(NO_SAMPLE, FLAT)


def test_light_that_goes_up_or_down_is_no_other_scene() -> None:
    for gain in (0.3, 0.8, 1.5):
        assert not changed(OTHER, np.clip(OTHER * gain, 0, 255).astype(np.int16))


@pytest.mark.parametrize(("down", "across"), [(0, 1), (1, 0), (-1, 1)])
def test_a_camera_that_swings_by_a_part_stirs_nothing(down: int, across: int) -> None:
    moved = np.roll(OTHER, (down, across), axis=(0, 1))
    assert stir(OTHER, moved) < 0.1  # what came in at the edges
    assert stir(OTHER, OTHER[::-1].copy()) > 0.1 and stir(NO_SAMPLE, NO_SAMPLE) == 1


def test_samples_may_come_as_rows() -> None:
    """As they are kept in a log."""
    assert changed(FLAT.ravel(), OTHER.ravel()) and not changed(OTHER.ravel(), OTHER.ravel())


@pytest.mark.parametrize(
    ("name", "value"),
    [("yuv420p", 200), ("nv12", 200), ("yuv420p10le", 800), ("p010le", 800 << 6), ("gray", 200)],
)
def test_a_sample_is_eight_bits_whatever_the_format(name: str, value: int) -> None:
    sample = sample_of(slot(value, name).frame())
    assert sample.shape == (18, 32) and sample.dtype == np.int16
    assert (sample == 200).all()


def test_a_tiny_picture_has_a_sample_too() -> None:
    assert sample_of(slot(50, size=(2, 2)).frame()).shape == (18, 32)
