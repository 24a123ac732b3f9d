"""The redact stage: every face covered in every format, and nothing else touched."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpflow.colour import Colour
from mpflow.cover import Outline
from mpflow.frame import PIXEL_FORMATS, Frame
from mpflow.memory import MemorySlot
from mpflow.stage import StageContext, Work
from mpflow.stages.redact import Redact, RedactOptions
from mpflow.tokens import Face, FrameState, Token

FORMATS = sorted(PIXEL_FORMATS)
METHODS = ["blur", "mosaic", "solid"]

coordinate = st.floats(-80, 160, allow_nan=False)
side = st.floats(0, 150, allow_nan=False)
boxes = st.builds(lambda x, y, w, h: (x, y, x + w, y + h), coordinate, coordinate, side, side)


def stage(**options: Any) -> Redact:
    made = Redact(msgspec.convert(options, RedactOptions), StageContext("redact"))
    made.open()
    return made


def noise(name: str, width: int = 97, height: int = 75) -> MemorySlot:
    pixel_format = PIXEL_FORMATS[name]
    slot = MemorySlot.of(name, width, height, Colour(depth=pixel_format.depth))
    rng = np.random.default_rng(5)
    for plane in slot.frame().fill_planes():
        samples = rng.integers(0, 1 << pixel_format.depth, plane.shape, dtype=np.uint16)
        plane[:] = samples << pixel_format.low_bits
    return slot


def redact(redactor: Redact, slot: MemorySlot, *faces: tuple[float, ...], **more: Any) -> Token:
    found = tuple(Face((box[0], box[1], box[2], box[3]), 0.9) for box in faces)
    token = Token("run", 0, faces=found, **more)
    (result,) = redactor.process([Work(token, slot.frame(journaled=True))])
    return result


@given(
    st.sampled_from(FORMATS),
    st.sampled_from(METHODS),
    st.sampled_from(["ellipse", "box"]),
    st.lists(boxes, min_size=1, max_size=3),
)
@settings(max_examples=150, deadline=None)
def test_pixels_outside_every_mask_are_bit_exact(
    name: str, method: str, shape: Any, faces: list[tuple[float, float, float, float]]
) -> None:
    slot = noise(name)
    before = [plane.copy() for plane in slot.frame().planes]
    redact(stage(method=method, shape=shape), slot, *faces)
    outline = Outline(shape, RedactOptions().reach, RedactOptions().feather)
    for plane, old, layout in zip(slot.frame().planes, before, slot.layout.planes, strict=True):
        touched = np.zeros(plane.shape[:2], bool)
        for face in faces:
            touched |= outline.weights(face, slot.layout.whole, layout.format) > 0
        np.testing.assert_array_equal(plane[~touched], old[~touched])


@given(st.sampled_from(FORMATS), st.sampled_from(METHODS), st.lists(boxes, max_size=3))
@settings(max_examples=60, deadline=None)
def test_the_journal_restores_the_frame_as_it_was(
    name: str, method: str, faces: list[tuple[float, float, float, float]]
) -> None:
    slot = noise(name)
    original = slot.bytes.copy()
    redact(stage(method=method), slot, *faces)
    np.testing.assert_array_equal(slot.restored(), original)


@pytest.mark.parametrize("name", FORMATS)
def test_solid_leaves_nothing_of_a_face_or_its_margin(name: str) -> None:
    slot = noise(name)
    redact(stage(method="solid", colour="#ff0000", shape="box", margin=0.0), slot, (20, 10, 60, 50))
    patch, _ = slot.frame().bgr((20, 10, 60, 50))
    red = (76, 76, 76) if slot.layout.format.gray else (0, 0, 255)
    tolerance = 30 if slot.layout.format.gray else 3  # a grey picture keeps the luma of red only
    assert np.abs(patch.astype(int) - red).max() <= tolerance


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_under_the_cover_depends_on_no_single_pixel(name: str, method: str) -> None:
    """A one-pixel change inside a face must not show through more than as part of a mean."""
    plain, changed = noise(name, 200, 180), noise(name, 200, 180)
    peak = PIXEL_FORMATS[name].depth
    luma = changed.frame().fill_planes()[0]
    luma[90, 100] = ((1 << peak) - 1) << PIXEL_FORMATS[name].low_bits
    for slot in (plain, changed):
        redact(stage(method=method), slot, (60, 50, 140, 130))
    step = 2 << (peak - 8 + PIXEL_FORMATS[name].low_bits)
    one, other = (slot.frame().planes[0].astype(int) for slot in (plain, changed))
    assert np.abs(one - other).max() <= step


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [24, 60, 240])
def test_a_small_face_is_hidden_as_much_as_a_large_one(method: str, size: int) -> None:
    """Stripes of a tenth of the face are gone at every size."""
    slot = MemorySlot.of("yuv420p", 640, 640)
    luma, u, v = slot.frame().fill_planes()
    stripes = np.arange(640) // max(1, size // 10) % 2
    luma[:] = 16 + 200 * stripes
    u[:] = v[:] = 128
    face = (320.0, 320.0, 320.0 + size, 320.0 + size)
    redact(stage(method=method), slot, face)
    inside = slot.frame().planes[0][320 : 320 + size, 320 : 320 + size]
    assert np.ptp(inside) < 60


@pytest.mark.parametrize("name", FORMATS)
def test_a_masked_frame_is_covered_whole(name: str) -> None:
    slot = noise(name)
    token = redact(stage(colour="#204060"), slot, state=FrameState.MASKED)
    assert token.state is FrameState.MASKED
    for plane in slot.frame().planes:
        assert (plane == plane[0, 0]).all()


def test_a_frame_without_faces_is_not_touched_and_not_journaled() -> None:
    slot = noise("yuv420p")
    original = slot.bytes.copy()
    redact(stage(), slot)
    np.testing.assert_array_equal(slot.bytes, original)
    assert not slot.journal


def test_a_face_outside_the_frame_changes_nothing() -> None:
    slot = noise("yuv420p")
    original = slot.bytes.copy()
    redact(stage(), slot, (-500, -500, -400, -400), (900, 10, 950, 60))
    np.testing.assert_array_equal(slot.bytes, original)


@pytest.mark.parametrize("method", METHODS)
def test_of_two_faces_that_overlap_neither_shows(method: str) -> None:
    """The part of one face inside the other's feather is covered all the same."""
    slot = noise("yuv420p", 200, 160)
    luma = slot.frame().fill_planes()[0]
    luma[:] = 100
    luma[70:90, 60:140:2] = 250
    redact(stage(method=method, margin=0.1), slot, (60, 50, 100, 110), (90, 50, 140, 110))
    row = slot.frame().planes[0][80, 62:138].astype(int)
    assert np.abs(np.diff(row)[::1]).max() < 100
    assert row.max() < 240


def test_each_frame_is_given_on_before_the_next_is_edited() -> None:
    slots = [noise("yuv420p"), noise("yuv420p")]
    token = Token("run", 0, faces=(Face((20, 20, 50, 60), 0.9),))
    works = [Work(token, slot.frame(journaled=True)) for slot in slots]
    results = stage().process(works)
    next(iter(results))
    assert slots[0].journal
    assert not slots[1].journal


@pytest.mark.parametrize("method", METHODS)
def test_no_view_of_the_pixels_survives_a_frame(method: str) -> None:
    class Counting(MemorySlot):
        def view(self, *arguments: Any, writable: bool) -> Any:
            import weakref

            array = super().view(*arguments, writable=writable)
            views.append(weakref.ref(array))
            return array

    views: list[Any] = []
    source = noise("yuv420p")
    slot = Counting(source.layout)
    slot.bytes[:] = source.bytes
    frame: Frame = slot.frame(journaled=True)
    token = Token("run", 0, faces=(Face((20, 20, 50, 60), 0.9),))
    for _ in stage(method=method).process([Work(token, frame)]):
        frame.end()
        assert views
        assert not any(view() is not None for view in views)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "none"},
        {"margin": -0.1},
        {"feather": 3},
        {"strength": 0},
        {"colour": "red"},
        {"colour": "#12345"},
        {"colour": "#1234567"},
        {"blocks": 3},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(options, RedactOptions)
