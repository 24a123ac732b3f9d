"""The visible label is in its corner of the upright picture, as high as asked, or it is said."""

from __future__ import annotations

import cv2
import marking
import numpy as np
import pytest

from mpflow.errors import ConfigError
from mpflow.memory import MemorySlot
from mpflow.provenance.label import Label, Wish, draw, make_label

TEXT = "AI-generated"


def seen(slot: MemorySlot, turns: int = 0) -> np.ndarray:
    """The luma plane, upright."""
    return np.rot90(slot.frame().planes[0].copy(), turns)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("corner", ["top-left", "top-right", "bottom-left", "bottom-right"])
def test_it_is_in_its_corner_of_the_upright_picture(corner: str, rotation: int) -> None:
    size = (640, 360) if rotation % 180 == 0 else (360, 640)
    slot = MemorySlot.of("yuv420p", *size)
    slot.bytes[:] = 128
    before = slot.bytes.copy()
    stage = marking.opened(marking.job(*size, rotation), label=TEXT, corner=corner)
    marking.marked(slot, stage)
    off = np.abs(seen(slot, rotation // 90).astype(int) - 128) > 20
    rows, columns = np.flatnonzero(off.any(axis=1)), np.flatnonzero(off.any(axis=0))
    assert (rows[-1] < 60) if "top" in corner else (rows[0] > 300)
    assert (columns[-1] < 240) if "left" in corner else (columns[0] > 400)
    text = seen(slot, rotation // 90) > 200
    assert text.any(axis=0).argmax() > columns[0]
    assert np.array_equal(slot.restored(), before)
    left = text[:, columns[0] : columns[0] + len(columns) // 2]
    right = text[:, columns[0] + len(columns) // 2 : columns[-1]]
    assert left.sum() < right.sum()  # "AI-gen" has less ink than "erated": it is not mirrored


@pytest.mark.parametrize("name", ["yuv420p", "nv12", "yuv422p10le", "yuv444p", "p010le", "gray"])
@pytest.mark.parametrize("size", [(641, 363), (322, 242)])
def test_it_is_drawn_in_every_format(name: str, size: tuple[int, int]) -> None:
    slot = MemorySlot.of(name, *size)
    marking.marked(slot, marking.opened(marking.job(*size), label=TEXT, corner="bottom-right"))
    luma = slot.frame().planes[0] >> (slot.layout.format.depth - 8 + slot.layout.format.low_bits)
    assert luma[-60:, -180:].max() > 200
    assert luma[:-60].max() <= 2


def test_its_capitals_are_as_high_as_asked() -> None:
    layout = MemorySlot.of("yuv420p", 1920, 1080).layout
    label = make_label(Wish("H", "top-left", 0.05), layout)
    assert label is not None
    assert label.height == 54
    ink = (label.picture[:, :, 0] > 128).any(axis=1).sum()
    assert ink == pytest.approx(54, abs=2)


def test_text_that_does_not_fit_is_made_smaller_and_named() -> None:
    told: list[object] = []
    slot = MemorySlot.of("yuv420p", 320, 240)
    marking.marked(slot, marking.opened(marking.job(320, 240), told=told, label="A" * 30))
    assert "only" in str(told[-1])
    assert slot.frame().planes[0].max() > 200
    slot = MemorySlot.of("yuv420p", 120, 100)
    marking.marked(slot, marking.opened(marking.job(120, 100), told=told, label="A" * 80))
    assert "does not fit into 120x100" in str(told[-1])
    assert slot.frame().planes[0].max() <= 2


def test_what_cannot_be_drawn_is_refused_before_any_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="nothing to draw"):
        marking.opened(marking.job(640, 360), label="   ")
    monkeypatch.delattr(cv2, "FontFace", raising=False)
    assert 18 <= len(draw(TEXT, 20)) <= 32
    with pytest.raises(ConfigError, match="cannot draw"):
        marking.opened(marking.job(640, 360), label="人工智能合成")


def test_a_label_lies_on_whole_chroma_samples() -> None:
    layout = MemorySlot.of("yuv420p", 641, 363).layout
    for corner in ("top-left", "bottom-right"):
        label = make_label(Wish(TEXT, corner, 0.05), layout)
        assert isinstance(label, Label)
        assert layout.align(label.box) == label.box
        assert label.weight.shape == label.picture.shape[:2]
