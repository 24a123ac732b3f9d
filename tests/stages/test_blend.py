"""Made faces come into the planes where they belong, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import madefaces
import msgspec
import numpy as np
import pytest
import scenes
import tinymasks

from mpflow.errors import ConfigError
from mpflow.models.align import TEMPLATES
from mpflow.policies.identity import covered
from mpflow.stage import StageContext, Work
from mpflow.stages.blend import Blend, BlendOptions
from mpflow.swapping.contract import LAID
from mpflow.tokens import Token

FORMATS = ["yuv420p", "nv12", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le", "p010le", "gray"]
FRAME = madefaces.skin(322, 242)
MIDDLE = madefaces.place(160, 120, 130)


def opened(**options: Any) -> Blend:
    stage = Blend(msgspec.convert(options, BlendOptions), StageContext("blend"))
    stage.open()
    return stage


def blended(made: madefaces.Scene, **options: Any) -> madefaces.Picture:
    """The frame as BGR when its faces are laid; all that changed is in the journal."""
    token = replace(Token("run", 0), faces=made.faces)
    (after,) = opened(**options).process([Work(token, made.slot.frame(journaled=True))])
    assert [replace(face, refs={**face.refs, LAID: 0}) for face in after.faces] == [
        replace(face, refs={**face.refs, LAID: 0}) for face in made.faces
    ]
    restored = made.slot.restored()[: made.slot.layout.nbytes]
    assert np.array_equal(restored, made.before)
    return scenes.bgr(made.slot)


def off(one: madefaces.Picture, other: madefaces.Picture) -> np.ndarray:
    return np.abs(one.astype(int) - other).max(axis=2)


def red(picture: madefaces.Picture) -> madefaces.Picture:
    return np.full_like(picture, (0, 0, 255))


@pytest.mark.parametrize("name", FORMATS)
def test_a_face_that_was_not_changed_is_not_seen_to_change(name: str) -> None:
    made = madefaces.scene(FRAME, [MIDDLE], lambda crop: crop, name)
    before = scenes.bgr(made.slot)
    assert off(blended(made), before).max() <= 6


@pytest.mark.parametrize("degrees", [0, 37, 90, 180])
@pytest.mark.parametrize("side", [40, 130, 400])
def test_a_turned_face_of_any_size_lands_where_it_was_taken(degrees: float, side: float) -> None:
    made = madefaces.scene(FRAME, [madefaces.place(160, 120, side, degrees)], lambda crop: crop)
    before = scenes.bgr(made.slot)
    assert off(blended(made), before).mean() < 1.5


@pytest.mark.parametrize(
    ("ratio", "is_hidden"), [(1.0, True), (0.95, True), (0.6, False), (0.01, False), (0.0, False)]
)
def test_only_a_face_that_is_hidden_needs_no_cover(ratio: float, is_hidden: bool) -> None:
    made = madefaces.scene(FRAME, [MIDDLE], red)
    token = replace(Token("run", 0), faces=made.faces)
    assert all(covered(face, "unswapped") for face in token.faces)
    (after,) = opened(ratio=ratio).process([Work(token, made.slot.frame(journaled=True))])
    assert [covered(face, "unswapped") for face in after.faces] == [not is_hidden]


@pytest.mark.parametrize("name", FORMATS)
def test_outside_of_the_face_every_sample_stays(name: str) -> None:
    made = madefaces.scene(FRAME, [MIDDLE], red, name)
    blended(made, colour="keep")
    frame = made.slot.frame()
    outside = np.ones((242, 322), bool)
    corners = madefaces.oval(MIDDLE)[:, :2]
    (x1, y1), (x2, y2) = corners.min(axis=0) - 3, corners.max(axis=0) + 3
    outside[int(y1) : int(y2) + 2, int(x1) : int(x2) + 2] = False
    old = type(made.slot)(made.slot.layout, made.slot.colour)
    old.bytes[:] = made.before
    for now, then, plane in zip(
        frame.planes, old.frame().planes, made.slot.layout.format.planes, strict=True
    ):
        kept = outside[:: 1 << plane.yshift, :: 1 << plane.xshift]
        assert np.array_equal(now[kept], then[kept])
    assert not np.array_equal(made.planes, made.before)


@pytest.mark.parametrize("name", ["yuv420p", "yuv422p10le", "nv12"])
def test_the_face_is_all_that_was_made_where_its_weight_is_full(name: str) -> None:
    made = madefaces.scene(FRAME, [MIDDLE], red, name)
    after = blended(made, colour="keep")
    assert off(after[110:130, 150:170], np.full((20, 20, 3), (0, 0, 255))).max() <= 3


def test_a_ten_bit_frame_keeps_its_finest_steps_outside() -> None:
    made = madefaces.scene(FRAME, [MIDDLE], madefaces.bluer, "yuv420p10le")
    luma = made.slot.frame().planes[0]
    assert (luma & 3).any()
    blended(made)
    assert (luma[:40] & 3).any()


def test_a_face_in_other_light_gets_the_colours_around_it() -> None:
    made = madefaces.scene(FRAME, [MIDDLE], madefaces.bluer)
    before = scenes.bgr(made.slot)
    kept = madefaces.scene(FRAME, [MIDDLE], madefaces.bluer)
    seen = slice(100, 140), slice(140, 180)
    assert off(blended(kept, colour="keep"), before)[seen].mean() > 25
    assert off(blended(made), before)[seen].mean() < 5


@pytest.mark.parametrize(("x", "y"), [(0, 120), (321, 120), (160, 0), (160, 241), (0, 0)])
def test_nothing_black_comes_in_at_the_edge_of_the_picture(x: float, y: float) -> None:
    """Even where the swapper has made black of what lies beyond it."""
    matrix = madefaces.place(x, y, 130)

    def black_outside(crop: madefaces.Picture) -> madefaces.Picture:
        inside = cv2.warpAffine(np.full((242, 322), 255, np.uint8), matrix, (128, 128))
        return np.where(inside[..., None] > 127, crop, 0).astype(np.uint8)

    made = madefaces.scene(FRAME, [matrix], black_outside)
    before = scenes.bgr(made.slot)
    assert off(blended(made), before).max() <= 8


def test_a_face_at_the_edge_is_laid_up_to_the_edge() -> None:
    made = madefaces.scene(FRAME, [madefaces.place(0, 120, 130)], red)
    after = blended(made, colour="keep")
    assert off(after[110:130, :4], np.full((20, 4, 3), (0, 0, 255))).max() <= 3


def test_faces_beyond_the_picture_and_faces_without_a_swap_are_left() -> None:
    made = madefaces.scene(FRAME, [madefaces.place(-500, 120, 130)], red)
    blended(made, colour="keep")
    assert np.array_equal(made.planes, made.before)
    made = madefaces.scene(FRAME, [MIDDLE], red)
    plain = replace(made, faces=(replace(made.faces[0], refs={}),))
    blended(plain)
    assert np.array_equal(plain.planes, plain.before)


def test_two_faces_that_overlap_do_not_take_their_colours_from_each_other() -> None:
    near = [madefaces.place(140, 120, 120), madefaces.place(190, 120, 110)]
    made = madefaces.scene(FRAME, near, madefaces.bluer)
    before = scenes.bgr(made.slot)
    assert off(blended(made, edge=0.02), before).mean() < 2.0


def test_without_outlines_all_that_was_made_is_laid() -> None:
    made = madefaces.scene(FRAME, [MIDDLE], red)
    outlined = madefaces.scene(FRAME, [MIDDLE], red)
    all_of_it, oval = blended(made, colour="keep", shape="crop"), blended(outlined, colour="keep")
    full = [(off(each, np.full_like(each, (0, 0, 255))) < 4).sum() for each in (all_of_it, oval)]
    assert full[0] > 1.5 * full[1]


def test_a_seamless_join_changes_no_more_than_the_face() -> None:
    made = madefaces.scene(FRAME, [MIDDLE], madefaces.bluer)
    before = scenes.bgr(made.slot)
    assert off(blended(made, blend="seamless"), before)[:, 160].max() < 40


def with_points(made: madefaces.Scene, matrix: np.ndarray) -> madefaces.Scene:
    """The same with the five points of faces that are upright in their crop."""
    back = cv2.invertAffineTransform(matrix)
    five = TEMPLATES["ffhq"] * madefaces.SIZE @ back[:, :2].T + back[:, 2]
    points = tuple((float(x), float(y)) for x, y in five)
    return replace(made, faces=tuple(replace(face, points=points) for face in made.faces))


@pytest.mark.parametrize("degrees", [0.0, 30.0])
def test_what_a_described_network_sees_before_a_face_stays(tmp_path: Path, degrees: float) -> None:
    matrix = madefaces.place(160, 120, 130, degrees)
    covered = FRAME.copy()
    covered[125:] = (0, 255, 0)
    tinymasks.occluder(tmp_path / "tiny.onnx")
    path = tinymasks.described(tmp_path, tinymasks.OCCLUDER)
    made = with_points(madefaces.scene(covered, [matrix], red, "yuv444p"), matrix)
    before = scenes.bgr(made.slot)
    after = blended(made, colour="keep", masks=[str(path)])
    assert off(after[135:], before[135:]).max() <= 1
    assert off(after[100:112, 150:170], np.full((12, 20, 3), (0, 0, 255))).max() <= 3


def test_a_face_without_points_is_laid_without_that_mask(tmp_path: Path) -> None:
    tinymasks.occluder(tmp_path / "tiny.onnx")
    path = tinymasks.described(tmp_path, tinymasks.OCCLUDER)
    made = madefaces.scene(FRAME, [MIDDLE], red)
    after = blended(made, colour="keep", masks=[str(path)])
    assert off(after[110:130, 150:170], np.full((20, 20, 3), (0, 0, 255))).max() <= 3


def test_a_mask_that_is_not_described_is_refused_before_any_frame(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no model description .*none\.yaml"):
        opened(masks=[str(tmp_path / "none.yaml")])


def test_meshes_are_needed_for_outlines_only() -> None:
    assert Blend.needs_with(BlendOptions()) == ("swaps", "meshes")
    assert Blend.needs_with(BlendOptions(shape="crop")) == ("swaps",)


def test_a_track_remembers_until_the_next_input() -> None:
    stage = opened()

    def middle(number: int, change: madefaces.Change) -> np.ndarray:
        made = madefaces.scene(FRAME, [MIDDLE], change)
        token = replace(Token("run", number, pts=number, time_base=(1, 25)), faces=made.faces)
        list(stage.process([Work(token, made.slot.frame(journaled=True))]))
        return scenes.bgr(made.slot)[100:140, 140:180].mean(axis=(0, 1))

    def a_little(crop: madefaces.Picture) -> madefaces.Picture:
        return np.clip(crop.astype(int) + 2, 0, 255).astype(np.uint8)

    as_it_is = middle(0, lambda crop: crop)
    remembered = middle(1, a_little)
    stage.begin(None)  # type: ignore[arg-type]
    anew = middle(2, a_little)
    assert np.abs(anew - as_it_is).max() < 0.5
    assert np.abs(remembered - as_it_is).min() > 0.8
