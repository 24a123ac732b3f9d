"""Faces that were swapped, or all, come out enhanced; the picture stays as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import fits
import madefaces
import msgspec
import numpy as np
import pytest
import scenes
import tinyenhancers
import yaml

from mpflow.errors import ConfigError
from mpflow.memory import MemorySlot
from mpflow.models.align import TEMPLATES, matrix_to
from mpflow.models.store import ModelStore
from mpflow.models.warp import warped
from mpflow.stage import StageContext, Work
from mpflow.stages.enhance import Enhance, EnhanceOptions
from mpflow.tokens import Face, Token

SIDE = 64
FRAME = madefaces.skin(322, 242)


def opened(
    folder: Path, kind: str = "gfpgan", told: dict[str, Any] | None = None, **options: Any
) -> Enhance:
    keys = {"scale": 2} if kind == "super-resolution" else {}
    path = folder / "net.yaml"
    path.write_text(yaml.safe_dump({"file": "net.onnx", "enhancer": kind, **keys}))
    given = {"model": str(path), "device": "cpu", **options}
    report = {} if told is None else told
    context = StageContext("enhance", report=report.__setitem__)
    stage = Enhance(msgspec.convert(given, EnhanceOptions), context)
    stage.open()
    return stage


def face_at(x: float, y: float, side: float, degrees: float = 0) -> Face:
    """A face whose five points fill the FFHQ template's crop of so many pixels of the frame."""
    turn = cv2.getRotationMatrix2D((0, 0), degrees, 1)[:, :2]
    points = (TEMPLATES["ffhq"] - 0.5) * side @ turn.T + (x, y)
    half = side / 3
    return Face(
        (x - half, y - half, x + half, y + half), 0.9, tuple((a, b) for a, b in points.tolist())
    )


def shown(faces: list[Face], side_bytes: int, swapped: dict[int, Any], size: int = 128) -> Any:
    """A slot, and the faces; those in ``swapped`` with a picture of that colour or change."""
    room = side_bytes + len(faces) * 4 * (size * size + 64)
    slot = fits.slot_with_room(FRAME, room, "yuv444p")
    frame = slot.frame()
    arrays: dict[str, list[Any]] = {"swap": [], "swap.matrix": [], "swap.mask": []}
    for number, face in enumerate(faces):
        matrix = matrix_to(face.points, "arcface-128", size) if number in swapped else None
        crop = None if matrix is None else warped(frame, matrix, (size, size), repeat_edge=True)
        arrays["swap"].append(None if crop is None else swapped[number](crop))
        arrays["swap.matrix"].append(matrix)
        arrays["swap.mask"].append(None if matrix is None else np.full((size, size), 255, np.uint8))
    return slot, frame.attach(faces, arrays)


def after(stage: Enhance, *sights: tuple[MemorySlot, tuple[Face, ...]]) -> list[tuple[Face, ...]]:
    works = [
        Work(replace(Token("run", number), faces=faces), slot.frame())
        for number, (slot, faces) in enumerate(sights)
    ]
    return [token.faces for token in stage.process(works)]


def same(crop: madefaces.Picture) -> madefaces.Picture:
    return crop


def test_a_swapped_face_comes_out_in_the_enhancers_template_and_strength(tmp_path: Path) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx", 0.5)
    stage = opened(tmp_path)
    faces = [face_at(160, 120, 120, 20), face_at(60, 60, 60)]
    slot, given = shown(faces, stage.side_bytes, {0: same})
    before = slot.bytes[: slot.layout.nbytes].copy()
    ((found, other),) = after(stage, (slot, given))
    assert other == given[1]
    frame = slot.frame()
    picture, matrix = frame.attached(found, "swap"), frame.attached(found, "swap.matrix")
    mask = frame.attached(found, "swap.mask")
    assert picture is not None
    assert matrix is not None
    assert mask is not None
    np.testing.assert_allclose(matrix, matrix_to(faces[0].points, "ffhq", SIDE), atol=1e-4)
    crop = warped(frame, matrix, (SIDE, SIDE), repeat_edge=True).astype(float)
    assert np.abs(picture - ((crop - 127.5) * 0.5 + 127.5)).mean() < 2
    # the swapper's crop is smaller than the enhancer's: beyond it nothing was made
    assert mask[SIDE // 2, SIDE // 2] == 255
    assert mask[0].max() == 0
    assert "unswapped" not in found.refs
    np.testing.assert_array_equal(slot.bytes[: slot.layout.nbytes], before)


def test_what_is_enhanced_is_what_the_swapper_made_and_not_what_was_there(tmp_path: Path) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx")
    stage = opened(tmp_path, colour="keep")
    red = np.array((20, 30, 200), np.uint8)
    slot, given = shown(
        [face_at(160, 120, 120)], stage.side_bytes, {0: lambda crop: np.full_like(crop, red)}
    )
    ((found,),) = after(stage, (slot, given))
    picture = slot.frame().attached(found, "swap")
    assert picture is not None
    assert np.abs(picture[24:44, 24:44].astype(int) - red).max() <= 3
    corner = warped(slot.frame(), matrix_to(given[0].points, "ffhq", SIDE), (SIDE, SIDE))
    assert np.abs(picture[:4, :4].astype(int) - corner[:4, :4]).max() <= 3


def test_ratio_mixes_with_what_the_network_was_given(tmp_path: Path) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx", 0.0)
    centres = []
    for ratio in (0.0, 0.5, 1.0):
        stage = opened(tmp_path, ratio=ratio, colour="keep")
        slot, given = shown(
            [face_at(160, 120, 120)], stage.side_bytes, {0: lambda crop: np.full_like(crop, 227)}
        )
        ((found,),) = after(stage, (slot, given))
        picture = slot.frame().attached(found, "swap")
        assert picture is not None
        centres.append(int(picture[32, 32, 0]))
    assert centres == pytest.approx([227, 177, 127], abs=2)


def test_all_faces_are_enhanced_where_that_is_asked_for_and_say_that_nobody_swapped_them(
    tmp_path: Path,
) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx", batch="n")
    told: dict[str, Any] = {}
    stage = opened(tmp_path, told=told, faces="all", max_batch=2)
    pair = [face_at(160, 120, 120), face_at(60, 60, 60)]
    first = shown(pair, stage.side_bytes, {0: same})
    second = shown(pair[1:], stage.side_bytes, {})
    (one, two), (three,) = after(stage, first, second)
    assert [sorted(face.refs) for face in (one, two, three)] == [
        ["swap", "swap.mask", "swap.matrix"],
        *[["swap", "swap.mask", "swap.matrix", "unswapped"]] * 2,
    ]
    frame = second[0].frame()
    picture, mask = frame.attached(three, "swap"), frame.attached(three, "swap.mask")
    matrix = matrix_to(pair[1].points, "ffhq", SIDE)
    assert mask is not None
    assert picture is not None
    assert mask.min() == 255
    crop = warped(frame, matrix, (SIDE, SIDE), repeat_edge=True)
    assert np.abs(picture.astype(int) - crop).max() <= 1
    stage.end()
    assert told["faces"] == {"enhanced": 3, "left": 0}


def test_the_largest_faces_come_first_and_points_that_say_nothing_are_left(tmp_path: Path) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx")
    told: dict[str, Any] = {}
    stage = opened(tmp_path, told=told, faces="all", most=2)
    blind = Face((0.0, 0.0, 300.0, 240.0), 0.9)
    faces = [face_at(60, 60, 60), blind, face_at(160, 120, 120)]
    slot, given = shown(faces, stage.side_bytes, {})
    (found,) = after(stage, (slot, given))
    assert ["swap" in face.refs for face in found] == [False, False, True]
    stage.end()
    assert told["faces"] == {"enhanced": 1, "left": 1}


def test_no_more_is_kept_than_is_asked_for(tmp_path: Path) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx", side=128)
    stage = opened(tmp_path, size=64)
    slot, given = shown([face_at(160, 120, 120)], stage.side_bytes, {0: same})
    ((found,),) = after(stage, (slot, given))
    frame = slot.frame()
    picture, matrix = frame.attached(found, "swap"), frame.attached(found, "swap.matrix")
    assert picture is not None
    assert matrix is not None
    assert picture.shape == (64, 64, 3)
    crop = warped(frame, matrix, (64, 64), repeat_edge=True)
    assert np.abs(picture[20:44, 20:44].astype(int) - crop[20:44, 20:44]).mean() < 2


def test_a_face_is_enlarged_only_where_that_is_more_than_there_is(tmp_path: Path) -> None:
    """A crop of 64 for what comes out with 128: a face of 120 pixels has more, one of 50 less; what
    was made in 48 pixels has less, however large the face is in the frame."""
    tinyenhancers.enlarging(tmp_path / "net.onnx", 2)
    stage = opened(tmp_path, "super-resolution", size=128, faces="all")
    faces = [face_at(160, 120, 120), face_at(60, 60, 50)]
    slot, given = shown(faces, stage.side_bytes, {})
    ((large, small),) = after(stage, (slot, given))
    assert ("swap" in large.refs, "swap" in small.refs) == (False, True)
    frame = slot.frame()
    picture, matrix = frame.attached(small, "swap"), frame.attached(small, "swap.matrix")
    assert picture is not None
    assert matrix is not None
    assert picture.shape == (128, 128, 3)
    crop = warped(frame, matrix, (128, 128), repeat_edge=True)
    assert np.abs(picture.astype(int) - crop).mean() < 3
    slot, given = shown(faces[:1], stage.side_bytes, {0: same}, size=48)
    ((coarse,),) = after(stage, (slot, given))
    picture = slot.frame().attached(coarse, "swap")
    assert picture is not None
    assert picture.shape == (128, 128, 3)


@pytest.mark.parametrize("degrees", [0, 30, 180])
def test_enlarged_and_shrunk_pictures_lie_where_the_crop_was(
    tmp_path: Path, degrees: float
) -> None:
    """Half a pixel would show: the frame has single lines."""
    lines = np.full((242, 322, 3), 90, np.uint8)
    lines[::9], lines[:, ::9] = 160, 160
    tinyenhancers.enlarging(tmp_path / "net.onnx", 2)
    stage = opened(tmp_path, "super-resolution", size=256, faces="all")
    slot = scenes.slot(lines, "yuv444p", side_bytes=stage.side_bytes)
    face = face_at(160, 120, 120, degrees)
    ((found,),) = after(stage, (slot, (face,)))
    frame = slot.frame()
    picture, matrix = frame.attached(found, "swap"), frame.attached(found, "swap.matrix")
    assert picture is not None
    assert matrix is not None
    back = cv2.warpAffine(picture, cv2.invertAffineTransform(matrix), (322, 242))
    part = np.s_[95:145, 135:185, 0]

    def shifted(by: int) -> float:
        return float(np.abs(back[part].astype(float) - np.roll(lines, by, axis=1)[part]).mean())

    assert shifted(0) < 0.6 * min(shifted(1), shifted(-1))


def test_without_a_model_it_is_not_opened_and_says_what_to_bring() -> None:
    with pytest.raises(ConfigError, match="enhance has no model") as caught:
        Enhance(EnhanceOptions(), StageContext("enhance")).open()
    assert "GFPGAN" in caught.value.cure


def test_what_it_needs_follows_from_whose_faces_it_enhances() -> None:
    assert Enhance.needs_with(EnhanceOptions()) == ("swaps",)
    assert Enhance.needs_with(EnhanceOptions(faces="all")) == ("faces",)


def test_a_real_face_made_small_is_enlarged_by_the_network_of_the_store(
    model_store: ModelStore,
) -> None:
    small = cv2.resize(scenes.read(model_store, "astronaut"), None, fx=0.25, fy=0.25)
    (face,) = fits.faces_of(model_store, np.asarray(small, np.uint8))
    options = EnhanceOptions(model="esrgan-slim-x2", faces="all", size=128, device="cpu")
    stage = Enhance(options, StageContext("enhance"))
    stage.open()
    slot = fits.slot_with_room(np.asarray(small, np.uint8), stage.side_bytes)
    ((found,),) = after(stage, (slot, (face,)))
    frame = slot.frame()
    picture, matrix = frame.attached(found, "swap"), frame.attached(found, "swap.matrix")
    assert picture is not None
    assert matrix is not None
    crop = warped(frame, matrix, (128, 128), repeat_edge=True)
    assert cv2.PSNR(picture, crop) > 27
