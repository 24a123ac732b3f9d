"""Where another scene begins."""

from __future__ import annotations

import numpy as np
import pytest

from mpflow.memory import MemorySlot
from mpflow.scenes import NO_SAMPLE, Scenes, changed, sample_of

FLAT = np.full((18, 32), 100, np.int16)
OTHER = np.random.default_rng(2).integers(0, 256, FLAT.shape).astype(np.int16)


def slot(value: int, name: str = "yuv420p", size: tuple[int, int] = (64, 48)) -> MemorySlot:
    made = MemorySlot.of(name, *size)
    for plane in made.frame().fill_planes():
        plane[...] = value
    return made


def test_noise_is_the_same_scene_and_another_picture_is_not() -> None:
    noise = FLAT + np.random.default_rng(1).integers(-20, 21, FLAT.shape, np.int16)
    assert not changed(FLAT, noise)
    assert changed(FLAT, OTHER)
    assert changed(FLAT, np.zeros((9, 16), np.int16))
    assert changed(NO_SAMPLE, FLAT)


def test_a_scene_begins_with_the_first_frame_and_after_each_cut() -> None:
    scenes = Scenes()
    frames = [slot(value).frame() for value in (50, 52, 54, 200, 199)]
    assert [scenes.begins(frame) for frame in frames] == [True, False, False, True, False]
    scenes.forget()
    assert scenes.begins(frames[-1])


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
