"""Frames: regions against exact arithmetic, edits that touch nothing else, ended leases."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpflow.colour import Colour
from mpflow.errors import ContractError
from mpflow.frame import PIXEL_FORMATS, FrameEnded, PictureLayout
from mpflow.memory import MemorySlot
from mpflow.picture import area

FORMATS = sorted(PIXEL_FORMATS)
SIZES = [(64, 48), (65, 49), (64, 49), (65, 48), (2, 2), (1, 1), (3, 1)]
COLOURS = list(itertools.product(("bt601", "bt709", "bt2020"), (False, True)))

side = st.floats(-40, 120, allow_nan=False)
boxes = st.tuples(side, side, side, side)
formats = st.sampled_from(FORMATS)
sizes = st.sampled_from(SIZES)


def filled(
    name: str, width: int, height: int, colour: tuple[str, bool] = ("bt709", False), seed: int = 1
) -> MemorySlot:
    depth = PIXEL_FORMATS[name].depth
    slot = MemorySlot.of(name, width, height, Colour(*colour, depth))
    rng = np.random.default_rng(seed)
    for plane in slot.frame().fill_planes():
        noise = rng.integers(0, 1 << depth, plane.shape, dtype=np.uint16)
        plane[:] = noise << PIXEL_FORMATS[name].low_bits
    return slot


def reference_bgr(slot: MemorySlot) -> npt.NDArray[np.float64]:
    """The whole frame in float64, each chroma sample repeated over the pixels it serves."""
    layout = slot.layout
    luma, *chroma = (plane.astype(np.float64) for plane in slot.frame().planes)
    if layout.format.interleaved:
        chroma = [chroma[0][..., 0], chroma[0][..., 1]]
    if layout.format.gray:
        chroma = [np.full_like(luma, 128 << (layout.format.depth - 8))] * 2
    else:
        xs, ys = layout.format.chroma_shift
        chroma = [
            plane.repeat(1 << ys, 0).repeat(1 << xs, 1)[: layout.height, : layout.width]
            for plane in chroma
        ]
    samples = np.stack([luma, *chroma], axis=-1) / (1 << layout.format.low_bits)
    if layout.format.gray:
        samples[..., 1:] *= 1 << layout.format.low_bits
    matrix = slot.colour.bgr_from_yuv
    return np.clip(samples @ matrix[:, :3].T + matrix[:, 3], 0, 255)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_layout_has_aligned_rows_and_planes_that_do_not_meet(
    name: str, width: int, height: int
) -> None:
    layout = PictureLayout.of(name, width, height)
    end = 0
    for plane in layout.planes:
        assert plane.offset == end
        assert plane.stride % 64 == 0
        assert plane.stride >= plane.shape[1] * plane.strides[1]
        end += plane.stride * plane.height
    assert end == layout.nbytes
    xs, ys = layout.format.chroma_shift
    if not layout.format.gray:
        assert layout.planes[1].shape[:2] == (-(-height >> ys), -(-width >> xs))


def test_unknown_formats_and_empty_pictures_are_refused() -> None:
    with pytest.raises(ContractError, match="rgb24"):
        PictureLayout.of("rgb24", 64, 48)
    with pytest.raises(ContractError, match="0x48"):
        PictureLayout.of("yuv420p", 0, 48)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("colour", COLOURS, ids=str)
def test_bgr_agrees_with_exact_arithmetic(name: str, colour: tuple[str, bool]) -> None:
    slot = filled(name, 65, 49, colour)
    patch, box = slot.frame().bgr((0, 0, 65, 49))
    assert box == (0, 0, 65, 49)
    assert np.abs(patch - reference_bgr(slot)).max() <= 1.0


@given(formats, sizes, boxes)
def test_bgr_of_any_box_is_that_cut_of_the_whole(
    name: str, size: tuple[int, int], wanted: tuple[float, float, float, float]
) -> None:
    slot = filled(name, *size)
    patch, (x1, y1, x2, y2) = slot.frame().bgr(wanted)
    assert patch.shape == (y2 - y1, x2 - x1, 3)
    whole, _ = slot.frame().bgr((0, 0, *size))
    np.testing.assert_array_equal(patch, whole[y1:y2, x1:x2])


@given(formats, sizes, boxes)
def test_an_aligned_box_holds_what_was_asked_and_stays_itself(
    name: str, size: tuple[int, int], wanted: tuple[float, float, float, float]
) -> None:
    layout = PictureLayout.of(name, *size)
    x1, y1, x2, y2 = box = layout.align(wanted)
    assert layout.align(box) == box
    assert 0 <= x1 <= x2 <= size[0]
    assert 0 <= y1 <= y2 <= size[1]
    columns = np.arange(max(0, np.floor(wanted[0])), min(size[0], np.ceil(wanted[2])))
    rows = np.arange(max(0, np.floor(wanted[1])), min(size[1], np.ceil(wanted[3])))
    if len(columns) and len(rows):
        assert x1 <= columns[0]
        assert columns[-1] < x2
        assert y1 <= rows[0]
        assert rows[-1] < y2


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_box_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(ContractError, match="finite"):
        filled("yuv420p", 64, 48).frame().bgr((0, 0, bad, 10))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("full", [False, True])
def test_a_patch_put_and_read_again_is_nearly_itself(
    name: str, size: tuple[int, int], full: bool
) -> None:
    slot = filled(name, *size, ("bt709", full))
    frame = slot.frame(journaled=True)
    patch, box = frame.bgr((0, 0, *size))
    flat = np.empty_like(patch)
    flat[:] = (60, 60, 60) if slot.layout.format.gray else (40, 90, 170)
    frame.put_bgr(box, flat)
    back, _ = frame.bgr(box)
    assert np.abs(back.astype(int) - flat).max() <= 3


@given(formats, sizes, boxes, st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_put_bgr_leaves_pixels_of_weight_zero_bit_exact(
    name: str, size: tuple[int, int], wanted: tuple[float, float, float, float], seed: int
) -> None:
    slot = filled(name, *size)
    before = [plane.copy() for plane in slot.frame().planes]
    frame = slot.frame(journaled=True)
    patch, box = frame.bgr(wanted)
    if not area(box):
        return
    rng = np.random.default_rng(seed)
    mask = (rng.random(patch.shape[:2]) * 2 - 1).clip(0, 1).astype(np.float32)
    frame.put_bgr(box, 255 - patch, mask)
    weight = np.zeros((size[1], size[0]), np.float32)
    weight[box[1] : box[3], box[0] : box[2]] = mask
    for plane, old, layout in zip(frame.planes, before, slot.layout.planes, strict=True):
        touched = blocks(weight, layout.format.xshift, layout.format.yshift)
        np.testing.assert_array_equal(plane[~touched], old[~touched])


def blocks(weight: npt.NDArray[Any], xs: int, ys: int) -> npt.NDArray[np.bool_]:
    """Which samples of a plane serve a pixel with a weight."""
    height, width = weight.shape
    padded = np.pad(weight, ((0, height % (1 << ys)), (0, width % (1 << xs))))
    shape = (padded.shape[0] >> ys, 1 << ys, padded.shape[1] >> xs, 1 << xs)
    result: npt.NDArray[np.bool_] = padded.reshape(shape).max(axis=(1, 3)) > 0
    return result


def test_a_patch_that_does_not_fit_its_box_is_refused() -> None:
    frame = filled("yuv420p", 64, 48).frame(journaled=True)
    patch, box = frame.bgr((3, 3, 20, 20))
    with pytest.raises(ContractError, match="does not fit"):
        frame.put_bgr((3, 3, 20, 20), patch)
    with pytest.raises(ContractError, match="does not fit"):
        frame.put_bgr(box, patch[1:])


@given(formats, sizes, st.lists(boxes, max_size=4))
@settings(max_examples=60)
def test_edit_journals_the_changed_rectangles_and_recovery_restores_them(
    name: str, size: tuple[int, int], wanted: list[tuple[float, float, float, float]]
) -> None:
    slot = filled(name, *size)
    original = slot.bytes.copy()
    frame = slot.frame(journaled=True)
    for region in frame.edit(wanted):
        for plane in region.planes:
            plane[:] = ~plane
    np.testing.assert_array_equal(slot.restored(), original)


def test_edit_journals_exactly_the_boxes() -> None:
    slot = filled("yuv420p", 64, 48)
    slot.frame(journaled=True).edit([(10, 10, 20, 20)])
    luma, u, v = (span for span, _ in slot.journal)
    planes = slot.layout.planes
    assert (luma.offset, luma.row_bytes, luma.rows) == (10 * planes[0].stride + 10, 10, 10)
    assert (u.offset, u.row_bytes, u.rows) == (planes[1].offset + 5 * planes[1].stride + 5, 5, 5)
    assert (v.offset - planes[2].offset, v.row_bytes, v.rows) == (5 * planes[2].stride + 5, 5, 5)


@given(
    edits=st.lists(
        st.lists(st.tuples(*[st.integers(-8, 72)] * 4), min_size=1, max_size=40), max_size=4
    )
)
def test_however_many_boxes_overlap_the_journal_stays_within_two_pictures(
    edits: list[list[tuple[int, int, int, int]]],
) -> None:
    slot = filled("yuv420p", 64, 48)
    frame = slot.frame(journaled=True)
    before = slot.bytes.copy()
    for boxes in edits:
        corners = [(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in boxes]
        for region in frame.edit(corners):
            for plane in region.planes:
                plane[...] += 1
    heads = sum(span.journal_bytes for span, _ in slot.journal)
    assert heads <= 2 * slot.layout.nbytes + 4096
    assert np.array_equal(slot.restored(), before)


def test_what_is_journaled_is_not_journaled_again() -> None:
    slot = filled("yuv420p", 64, 48)
    frame = slot.frame(journaled=True)
    frame.edit([(10, 10, 30, 30)])
    frame.edit([(12, 12, 20, 20)])
    assert len(slot.journal) == 3


def test_a_stage_that_does_not_change_pixels_cannot_edit() -> None:
    with pytest.raises(ContractError, match="may not change"):
        filled("yuv420p", 64, 48).frame().edit([(0, 0, 4, 4)])


def test_planes_are_read_only() -> None:
    frame = filled("nv12", 64, 48).frame()
    for plane in frame.planes:
        with pytest.raises(ValueError, match="read-only"):
            plane[0] = 0


def test_every_access_after_the_end_raises() -> None:
    frame = filled("yuv420p", 64, 48).frame(journaled=True)
    patch, box = frame.bgr((0, 0, 8, 8))
    regions = frame.edit([(0, 0, 8, 8)])
    frame.end()
    for access in (
        lambda: frame.planes,
        lambda: frame.bgr((0, 0, 8, 8)),
        lambda: frame.edit([(0, 0, 8, 8)]),
        lambda: frame.put_bgr(box, patch),
        lambda: frame.detector_blob(32, 32),
        frame.export,
    ):
        with pytest.raises(FrameEnded):
            access()
    assert regions[0].box == box


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("colour", COLOURS, ids=str)
def test_a_detector_blob_of_the_same_size_is_the_frame_in_bgr(
    name: str, colour: tuple[str, bool]
) -> None:
    slot = filled(name, 96, 64, colour)
    if PIXEL_FORMATS[name].chroma_shift != (0, 0):
        # Chroma is interpolated here and repeated in the reference: equal where it is constant.
        for plane in slot.frame().fill_planes()[1:]:
            plane[:] = plane[0, 0]
    blob, scale = slot.frame().detector_blob(96, 64)
    assert scale == 1.0
    np.testing.assert_allclose(blob.transpose(1, 2, 0), reference_bgr(slot), atol=1e-2)


@pytest.mark.parametrize("name", ["yuv420p", "nv12", "p010le", "yuv444p10le", "gray"])
@pytest.mark.parametrize("size", [(192, 108), (193, 109), (50, 90), (31, 17)])
def test_a_detector_blob_is_scaled_to_the_top_left(name: str, size: tuple[int, int]) -> None:
    width, height = size
    slot = MemorySlot.of(name, width, height)
    fmt = slot.layout.format
    ramp = np.linspace(30, 220, width)
    for index, plane in enumerate(slot.frame().fill_planes()):
        values = ramp if index == 0 else np.full(plane.shape[1], 128.0)
        samples = np.rint(values * (1 << (fmt.depth - 8))).astype(np.uint16) << fmt.low_bits
        plane[:] = samples.reshape(1, -1, *[1] * (plane.ndim - 2))
    out = np.full((3, 64, 96), 7, np.float32)
    blob, scale = slot.frame().detector_blob(96, 64, out)
    assert blob is out
    assert scale == min(96 / width, 64 / height)
    columns, rows = round(width * scale), round(height * scale)
    assert not blob[:, rows:].any()
    assert not blob[:, :, columns:].any()
    grey = (np.interp((np.arange(columns) + 0.5) / scale - 0.5, np.arange(width), ramp) - 16) / 219
    expected = np.broadcast_to(grey * 255, (3, rows, columns))
    edge = 255 / width * 2 / min(1, scale)
    np.testing.assert_allclose(blob[:, :rows, :columns], expected.clip(0, 255), atol=2 + edge)
