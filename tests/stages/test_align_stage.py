"""Crops and poses as stages give them: straight from the planes, for faces that have points."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import fits
import msgspec
import numpy as np
import pytest
import scenes

from mpflow.memory import MemorySlot
from mpflow.models.align import TEMPLATES
from mpflow.models.store import ModelStore
from mpflow.stage import StageContext, Work
from mpflow.stages.align import Align, AlignOptions
from mpflow.stages.pose import Pose
from mpflow.tokens import Face, Sighting, Token


@pytest.fixture(scope="module")
def group(model_store: ModelStore) -> scenes.Picture:
    return scenes.read(model_store, "group-photo")


@pytest.fixture(scope="module")
def six(model_store: ModelStore, group: scenes.Picture) -> tuple[Face, ...]:
    return fits.faces_of(model_store, group)


def opened(**options: Any) -> Align:
    stage = Align(msgspec.convert(options, AlignOptions), StageContext("align"))
    stage.open()
    return stage


def after(stage: Any, slot: MemorySlot, faces: tuple[Face, ...]) -> tuple[Face, ...]:
    (token,) = stage.process([Work(replace(Token("run", 0), faces=faces), slot.frame())])
    found: tuple[Face, ...] = token.faces
    return found


@pytest.mark.parametrize(
    ("template", "size"), [("arcface", 112), ("arcface-128", 256), ("ffhq", 512)]
)
def test_every_face_with_points_gets_a_crop_and_its_matrix(
    group: scenes.Picture, six: tuple[Face, ...], template: Any, size: int
) -> None:
    stage = opened(template=template, size=size)
    slot = fits.slot_with_room(group, stage.side_bytes)
    hidden = Face((10.0, 10.0, 60.0, 70.0), 0.5, sighting=Sighting.FILLED)
    faces = after(stage, slot, (hidden, *six))
    assert faces[0] == hidden
    for face in faces[1:]:
        crop, matrix = (slot.frame().attached(face, name) for name in ("crop", "crop.matrix"))
        assert crop is not None
        assert matrix is not None
        assert crop.shape == (size, size, 3)
        assert crop.dtype == np.uint8
        there = np.column_stack([np.array(face.points), np.ones(5)]) @ matrix.T
        off = np.linalg.norm(there - TEMPLATES[template] * size, axis=1)
        assert off.mean() < 0.08 * size


def test_only_the_largest_faces_get_a_crop_where_there_are_more(
    group: scenes.Picture, six: tuple[Face, ...]
) -> None:
    stage = opened(faces=2)
    faces = after(stage, fits.slot_with_room(group, stage.side_bytes), six)
    assert sum("crop" in face.refs for face in faces) == 2


def test_points_that_are_all_one_get_no_crop(group: scenes.Picture, six: tuple[Face, ...]) -> None:
    stage = opened()
    broken = replace(six[0], points=((5.0, 5.0),) * 5)
    faces = after(stage, fits.slot_with_room(group, stage.side_bytes), (broken, six[1]))
    assert [sorted(face.refs) for face in faces] == [[], ["crop", "crop.matrix"]]


def test_poses_are_told_from_points_alone(group: scenes.Picture, six: tuple[Face, ...]) -> None:
    stage = Pose(Pose.Options(), StageContext("pose"))
    stage.open()
    stage.begin(fits.job(group))
    bare = Face((1.0, 1.0, 9.0, 9.0), 0.9)
    faces = after(stage, fits.slot_with_room(group, 0), (*six, bare))
    poses = [face.pose for face in faces[:6]]
    assert all(poses)
    yaws = [pose[0] for pose in poses if pose]
    assert min(yaws) < -30  # somebody looks far to the left, and nobody far to the right
    assert max(yaws) < 20
    assert faces[6].pose is None
