"""The stage that lays meshes: in batches, turned, waiting for later frames, in a chain."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import fits
import msgspec
import numpy as np
import pytest
import scenes
import yaml
from runs import kill_workers, worker_pids

from mpflow.errors import ConfigError
from mpflow.memory import MemorySlot
from mpflow.models.store import ModelStore
from mpflow.pipeline import Pipeline
from mpflow.spec import RunSpec
from mpflow.stage import StageContext, Work
from mpflow.stages.landmarks import Landmarks, LandmarksOptions
from mpflow.tokens import Face, Token

MESH = (468, 3)
Reports = dict[str, Any]


def opened(
    picture: scenes.Picture, *, workers: int = 1, rotation: int = 0, **options: Any
) -> tuple[Landmarks, Reports]:
    reports: Reports = {}
    chosen = msgspec.convert({"device": "cpu", **options}, LandmarksOptions)
    stage = Landmarks(
        chosen, StageContext("landmarks", workers=workers, report=reports.__setitem__)
    )
    stage.open()
    stage.begin(fits.job(picture, rotation))
    return stage, reports


def slots_of(stage: Landmarks, *pictures: scenes.Picture) -> list[MemorySlot]:
    return [fits.slot_with_room(picture, stage.side_bytes) for picture in pictures]


def given(stage: Landmarks, slots: Sequence[MemorySlot], faces: Sequence[tuple[Face, ...]]) -> Any:
    """The tokens of frames that come one by one, and the frames they are of."""
    frames = [slot.frame() for slot in slots]
    works = [
        Work(replace(Token("run", n, pts=n, time_base=(1, 25)), faces=mine), frame)
        for n, (mine, frame) in enumerate(zip(faces, frames, strict=True))
    ]
    step = stage.max_batch
    batches = [works[first : first + step] for first in range(0, len(works), step)]
    tokens = [token for batch in batches for token in stage.process(batch)]
    return [*tokens, *stage.flush()], frames


@pytest.fixture(scope="module")
def group(model_store: ModelStore) -> scenes.Picture:
    return scenes.read(model_store, "group-photo")


@pytest.fixture(scope="module")
def six(model_store: ModelStore, group: scenes.Picture) -> tuple[Face, ...]:
    return fits.faces_of(model_store, group)


@pytest.fixture(scope="module")
def portrait(model_store: ModelStore) -> tuple[scenes.Picture, Face]:
    """A small portrait and its face."""
    picture = cv2.resize(scenes.read(model_store, "astronaut"), (256, 256))
    (face,) = fits.faces_of(model_store, picture)
    return picture, face


def test_every_face_gets_a_mesh_a_pose_and_better_points(
    group: scenes.Picture, six: tuple[Face, ...]
) -> None:
    stage, reports = opened(group, max_batch=2)
    nobody = Face((700.0, 700.0, 780.0, 800.0), 0.7, ((1.0, 2.0),))
    slots = slots_of(stage, group, group)
    (one, two), frames = given(stage, slots, [(*six, nobody), six])
    for face, before in zip(one.faces[:6], six, strict=True):
        mesh = frames[0].attached(face, "mesh")
        assert mesh is not None
        assert mesh.shape == MESH
        assert mesh.dtype == np.float32
        assert face.box == before.box
        assert face.points != before.points
        assert len(face.points) == 5
        assert face.pose is not None
    assert one.faces[6] == nobody
    assert [face.pose for face in two.faces] == [face.pose for face in one.faces[:6]]
    assert reports["session"]["device"] == "cpu"
    assert reports["model"] == "facemesh"


def test_a_batch_of_frames_gives_what_single_frames_give(
    group: scenes.Picture, six: tuple[Face, ...]
) -> None:
    mirrored = np.ascontiguousarray(group[:, ::-1])
    results = []
    for batch in (1, 3):
        stage, _ = opened(group, max_batch=batch, crops=4)
        tokens, frames = given(stage, slots_of(stage, group, mirrored, group), [six, (), six[:2]])
        results.append(
            [
                frame.attached(face, "mesh")
                for token, frame in zip(tokens, frames, strict=True)
                for face in token.faces
            ]
        )
    assert len(results[0]) == len(results[1]) == 8
    for single, batched in zip(*results, strict=True):
        np.testing.assert_allclose(single, batched, atol=0.01)


def test_only_the_largest_faces_get_a_mesh_where_there_are_more(
    group: scenes.Picture, six: tuple[Face, ...]
) -> None:
    stage, _ = opened(group, faces=2)
    (token,), _ = given(stage, slots_of(stage, group), [six])
    with_mesh = {n for n, face in enumerate(token.faces) if "mesh" in face.refs}
    widths = sorted(range(6), key=lambda n: six[n].box[2] - six[n].box[0])
    heights = sorted(range(6), key=lambda n: six[n].box[3] - six[n].box[1])
    assert with_mesh in ({*widths[-2:]}, {*heights[-2:]})


def test_points_are_left_alone_if_that_is_asked_for(
    group: scenes.Picture, six: tuple[Face, ...]
) -> None:
    stage, _ = opened(group, refine=False)
    (token,), _ = given(stage, slots_of(stage, group), [six])
    assert [face.points for face in token.faces] == [face.points for face in six]
    assert all("mesh" in face.refs for face in token.faces)


def test_a_mesh_that_is_somebody_elses_is_none(
    group: scenes.Picture, six: tuple[Face, ...]
) -> None:
    """A box beside a face, whose points are the face's."""
    stage, _ = opened(group)
    x1, y1, x2, y2 = six[0].box
    beside = replace(six[0], box=(x1 - 400, y1 + 300, x2 - 400, y2 + 300))
    (token,), _ = given(stage, slots_of(stage, group), [(beside,)])
    assert not token.faces[0].refs
    assert token.faces[0].points == six[0].points


@pytest.mark.parametrize("rotation", [90, 180, 270])
@pytest.mark.parametrize("with_points", [True, False])
def test_a_picture_that_is_stored_turned_has_the_pose_that_is_seen(
    portrait: tuple[scenes.Picture, Face], rotation: int, with_points: bool
) -> None:
    picture, face = portrait
    stage, _ = opened(picture)
    (upright,), _ = given(stage, slots_of(stage, picture), [(face,)])
    stored = np.ascontiguousarray(np.rot90(picture, -rotation // 90))
    middle = np.array([127.5, 127.5])
    cos, sin = round(np.cos(np.radians(rotation))), round(np.sin(np.radians(rotation)))
    turn = np.array([[cos, sin], [-sin, cos]])  # clockwise: stored from upright
    points = (np.array(face.points) - middle) @ turn + middle
    corners = (np.array(face.box).reshape(2, 2) - middle) @ turn + middle
    there = Face(
        (*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()),
        face.score,
        tuple(map(tuple, points.tolist())) if with_points else (),
    )
    stage, _ = opened(stored, rotation=rotation)
    (turned,), _ = given(stage, slots_of(stage, stored), [(there,)])
    assert upright.faces[0].pose is not None
    assert turned.faces[0].pose is not None
    assert np.abs(np.subtract(turned.faces[0].pose, upright.faces[0].pose)).max() < 3


def walk(portrait: tuple[scenes.Picture, Face], frames: int, step: float, noise: float) -> Any:
    """The portrait as it goes to the right, its face's points trembling, and the true shifts."""
    picture, face = portrait
    random = np.random.default_rng(5)
    pictures, faces, shifts = [], [], []
    for number in range(frames):
        shift = number * step
        moved = cv2.warpAffine(
            picture,
            np.array([[1, 0, shift], [0, 1, 0]], np.float64),
            (256 + 100, 256),
            borderMode=cv2.BORDER_REPLICATE,
        )
        grain = random.normal(0, noise, moved.shape)
        pictures.append((moved + grain).clip(0, 255).astype(np.uint8))
        away = np.array([shift, 0.0])
        points = np.array(face.points) + away + random.normal(0, 1.5, (5, 2))
        box = np.array(face.box) + np.tile(away, 2)
        faces.append((Face(tuple(box.tolist()), 0.9, tuple(map(tuple, points.tolist())), track=4),))
        shifts.append(shift)
    return pictures, faces, np.array(shifts)


def test_a_track_is_steadied_and_does_not_lag(portrait: tuple[scenes.Picture, Face]) -> None:
    pictures, faces, shifts = walk(portrait, 24, 3.0, 12.0)
    found = {}
    for name, options in {
        "raw": {"smooth": 0},
        "both sides": {"smooth": 3, "ahead": 3},
        "live": {"smooth": 3, "ahead": 0},
    }.items():
        stage, _ = opened(pictures[0], **options)
        assert stage.holds == options.get("ahead", 0)
        tokens, frames = given(stage, slots_of(stage, *pictures), faces)
        assert [token.seq for token in tokens] == list(range(24))
        meshes = [
            frame.attached(token.faces[0], "mesh")
            for token, frame in zip(tokens, frames, strict=True)
        ]
        found[name] = np.array(meshes)[:, :, :2] - shifts[:, None, None] * np.array([1, 0])
    still = {name: meshes - meshes.mean(axis=0) for name, meshes in found.items()}
    trembling = {name: np.diff(off[6:-3], axis=0).std() for name, off in still.items()}
    assert trembling["both sides"] < 0.45 * trembling["raw"]
    assert trembling["live"] < 0.8 * trembling["raw"]
    for name in ("both sides", "live"):
        late = found[name][6:-3, :, 0].mean() - found["raw"][6:-3, :, 0].mean()
        assert abs(late) < 0.3  # pixels, of three a frame


def test_frames_wait_and_come_in_their_order(portrait: tuple[scenes.Picture, Face]) -> None:
    pictures, faces, _ = walk(portrait, 5, 2.0, 0.0)
    stage, _ = opened(pictures[0], smooth=2, ahead=2)
    slots = slots_of(stage, *pictures)
    came = []
    for number, (slot, mine) in enumerate(zip(slots, faces, strict=True)):
        token = replace(Token("run", number), faces=mine)
        came.append([each.seq for each in stage.process([Work(token, slot.frame())])])
    assert came == [[], [], [0], [1], [2]]
    stage.begin(fits.job(pictures[0]))
    assert list(stage.flush()) == []
    assert stage.least_holds == 0
    stage.room = 0
    stage.begin(fits.job(pictures[0]))
    token = replace(Token("run", 0), faces=faces[0])
    assert [each.seq for each in stage.process([Work(token, slots[0].frame())])] == [0]


def test_with_several_workers_nothing_waits(portrait: tuple[scenes.Picture, Face]) -> None:
    stage, _ = opened(portrait[0], workers=2)
    assert stage.holds == 0


def test_a_model_that_is_none_is_named(portrait: tuple[scenes.Picture, Face]) -> None:
    with pytest.raises(ConfigError, match="'sface' is no landmark network"):
        opened(portrait[0], model="sface")


def test_a_chain_keeps_meshes_and_crops_though_the_worker_dies(
    model_store: ModelStore, tmp_path: Path
) -> None:
    """What the dead one had not given on is fitted again."""
    preset = tmp_path / "chain.yaml"
    stages = [
        {"stage": "decode"},
        {"stage": "detect", "options": {"device": "cpu"}},
        {"stage": "track", "options": {"ahead": 2}},
        {"stage": "landmarks", "options": {"device": "cpu", "smooth": 2, "ahead": 1}},
        {"stage": "pose"},
        {"stage": "align", "options": {"template": "ffhq", "size": 96}},
        {"stage": "mpflow.conformance:Nothing"},
    ]
    preset.write_text(yaml.safe_dump({"stages": stages}))
    source = str(model_store.path("carphone"))
    seen = []
    with Pipeline(RunSpec(source, preset=str(preset), stop=24)) as pipeline:
        for token, frame in pipeline:
            (face,) = token.faces
            arrays = [frame.attached(face, name) for name in ("mesh", "crop", "crop.matrix")]
            shapes = [None if array is None else array.shape for array in arrays]
            assert shapes == [MESH, (96, 96, 3), (2, 3)]
            assert face.pose is not None
            seen.append(token.seq)
            if token.seq == 4:
                assert worker_pids(os.getpid(), "landmarks")
                kill_workers(os.getpid(), "landmarks")
    assert seen == list(range(24))
