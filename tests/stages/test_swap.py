"""The swap stage around a swapper that paints: who gets which face, how much of it, and whether it
is still like its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
import scenes
from painter import COLOURS, Painter, PaintStudio

from mpflow.accounts import DRIFT
from mpflow.errors import ConfigError
from mpflow.policies.identity import covered
from mpflow.spec import JobSpec, MediaInfo, VideoInfo
from mpflow.stage import Job, StageContext, Work
from mpflow.stages.swap import Swap, SwapOptions
from mpflow.swapping import opened, sources
from mpflow.swapping.contract import LAID, MASK, MATRIX, SWAP, UNSWAPPED, Made
from mpflow.swapping.drift import Drift
from mpflow.tokens import Face, Sighting, Token

SIDE, RATE = 64, 25
_FIVE = np.array([(0.34, 0.4), (0.66, 0.4), (0.5, 0.58), (0.38, 0.76), (0.62, 0.76)])


def face(x: float = 60, y: float = 60, size: float = 60, **more: Any) -> Face:
    points = tuple((px, py) for px, py in (np.array([x, y]) + _FIVE * size).tolist())
    return Face((x, y, x + size, y + size), 0.9, **{"points": points, **more})


class Bench:
    """An opened stage, what it said, its swappers by their size, and how like their source the
    faces of each size are."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.likeness: dict[int, float] = {}
        self.reports: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.swappers: dict[int, Painter] = {}

        def open_swapper(choice: Any, size: int, *_: Any, **__: Any) -> tuple[Painter, dict]:
            side = size or SIDE
            self.swappers[side] = Painter(side)
            return self.swappers[side], {}

        monkeypatch.setattr(opened, "open_swapper", open_swapper)

        def cosine(_: Drift, target: Any, made: Made, photos: Any) -> float:
            return self.likeness.get(len(made.mask), 0.9)

        monkeypatch.setattr(Drift, "cosine", cosine)
        monkeypatch.setattr(sources, "open_studio", lambda store, threads: PaintStudio())

    def open(self, **options: Any) -> Swap:
        chosen = msgspec.convert(options, SwapOptions)
        context = StageContext("swap", report=self.reports.__setitem__, warn=self.warnings.append)
        stage = Swap(chosen, context)
        stage.open()
        video = VideoInfo(0, "none", 320, 240, "yuv420p", "yuv420p", (1, RATE))
        stage.begin(Job(JobSpec("job", "in"), MediaInfo("in", "none", video)))
        return stage


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def process(stage: Swap, *frames: Sequence[Face]) -> tuple[list[Token], list[Any]]:
    """Frames with these faces through the stage in one batch, and their pixels afterwards."""
    picture = np.full((240, 320, 3), 128, np.uint8)
    slots = [scenes.slot(picture, side_bytes=stage.side_bytes) for _ in frames]
    works = [
        Work(Token("run", seq, pts=seq, time_base=(1, RATE), faces=tuple(faces)), slot.frame())
        for seq, (faces, slot) in enumerate(zip(frames, slots, strict=True))
    ]
    return list(stage.process(works)), [slot.frame() for slot in slots]


def colour(frame: Any, of: Face) -> list[int] | None:
    made = frame.attached(of, SWAP)
    return None if made is None else made[SIDE // 2, SIDE // 2].tolist()


def test_a_source_is_for_every_face_and_all_frames_are_swapped_together(bench: Bench) -> None:
    stage = bench.open(sources=["red.jpg"])
    tokens, frames = process(stage, [face(), face(160)], [face(20)])
    assert bench.swappers[SIDE].calls == [3]
    for token, frame in zip(tokens, frames, strict=True):
        for each in token.faces:
            assert colour(frame, each) == list(COLOURS["red"])
            assert frame.attached(each, MATRIX).shape == (2, 3)
            assert (frame.attached(each, MASK) == 255).all()
            assert covered(each, "unswapped"), "it is not in the picture yet"


def test_a_map_gives_people_their_sources_and_leaves_others_as_they_are(bench: Bench) -> None:
    stage = bench.open(map=["anna.jpg=green.jpg", "bea.jpg=blue.jpg", "carl.jpg=red.jpg"])
    marks = ["p1", "other", None, "p0"]
    crowd = [face(75 * n, identity=mark) for n, mark in enumerate(marks)]
    (token,), (frame,) = process(stage, crowd)
    made = [colour(frame, each) for each in token.faces]
    assert made == [list(COLOURS["blue"]), None, None, list(COLOURS["green"])]
    stage.end()
    assert any("nobody was recognised" in text and "carl.jpg" in text for text in bench.warnings)
    assert not any("anna" in text or "bea" in text for text in bench.warnings)


def test_a_face_that_was_only_enhanced_is_nobody_elses() -> None:
    assert covered(face(refs={SWAP: 0, MATRIX: 8}), "unswapped")
    assert not covered(face(refs={SWAP: 0, LAID: 0}), "unswapped")
    assert covered(face(refs={SWAP: 0, LAID: 0, UNSWAPPED: 16}), "unswapped")


def test_the_largest_faces_go_first_where_they_are_many(bench: Bench) -> None:
    stage = bench.open(sources=["red.jpg"], faces=2)
    (token,), _ = process(stage, [face(0, size=40), face(60, size=80), face(160, size=60)])
    assert [SWAP in each.refs for each in token.faces] == [False, True, True]


def test_there_are_never_more_made_faces_than_there_was_room_for_at_the_start(bench: Bench) -> None:
    stage = bench.open(sources=["red.jpg"], faces=1)
    room = stage.side_bytes
    stage.tune(replace_option(stage.options, faces=2))
    (token,), _ = process(stage, [face(0), face(120)])
    assert sum(SWAP in each.refs for each in token.faces) == 1
    assert stage.side_bytes == room


def test_towards_the_profile_less_is_seen_and_then_nothing(bench: Bench) -> None:
    stage = bench.open(sources=["red.jpg"], fade=[50, 70])
    seen, own = [], []
    for yaw in (49.0, -60.0, 71.0):
        (token,), (frame,) = process(stage, [face(pose=(yaw, 0.0, 0.0))])
        seen.append(colour(frame, token.faces[0]))
        laid = replace(token.faces[0], refs={**token.faces[0].refs, LAID: 0})
        own.append(covered(laid, "unswapped"))
    assert own[:2] == [False, True]  # who is seen through it is covered
    red, half = list(COLOURS["red"]), seen[1]
    assert seen[0] == red
    assert seen[2] is None
    assert half is not None
    assert np.allclose(half, (np.array(red) + 128) / 2, atol=3)


def test_nothing_is_put_where_nobody_saw_a_face(bench: Bench) -> None:
    stage = bench.open(sources=["red.jpg"], model="some.onnx")
    crowd = [
        face(0, sighting=Sighting.CARRIED),
        face(80, sighting=Sighting.WEAK),
        replace(face(160), points=()),
        face(240, points=((1.0, 1.0),) * 5),
    ]
    (token,), _ = process(stage, crowd)
    assert [SWAP in each.refs for each in token.faces] == [False, True, False, False]


def test_a_mesh_is_brought_into_the_crop_and_stands_for_a_sighting(bench: Bench) -> None:
    stage = bench.open(sources=["red.jpg"])
    picture = np.full((240, 320, 3), 128, np.uint8)
    slot = scenes.slot(picture, side_bytes=stage.side_bytes + 8192)
    across = np.linspace(65, 115, 468, dtype=np.float32)  # as wide as the face, nearly
    mesh = np.column_stack([across, across, np.full(468, -6, np.float32)])
    faces = slot.frame().attach([face(sighting=Sighting.CARRIED)], {"mesh": [mesh]})
    (part,) = stage._parts(0, Work(Token("run", 0, faces=faces), slot.frame()))
    target = part.target
    scale = np.sqrt(np.linalg.det(target.matrix[:, :2]))
    assert target.mesh is not None
    assert np.allclose(target.mesh[0, :2], target.matrix[:, :2] @ (65, 65) + target.matrix[:, 2])
    assert np.isclose(target.mesh[0, 2], -6 * scale)
    assert np.allclose(target.points[0], target.matrix @ (*faces[0].points[0], 1), atol=1e-3)


def test_a_face_that_is_not_like_its_source_is_made_again_as_at_the_start(bench: Bench) -> None:
    bench.likeness[32] = 0.1
    stage = bench.open(sources=["red.jpg"], sample=1.0)
    stage.tune(replace_option(stage.options, size=32))
    (token,), (frame,) = process(stage, [face(track=1)])
    assert frame.attached(token.faces[0], SWAP).shape == (SIDE, SIDE, 3)
    assert DRIFT not in token.fields
    (token,), (frame,) = process(stage, [face(track=1)])  # not looked at again so soon
    assert frame.attached(token.faces[0], SWAP).shape == (32, 32, 3)
    stage.end()
    assert bench.reports["similarity"]["made_again"] == 1
    assert bench.reports["similarity"]["looks"] == 1
    assert bench.reports["similarity"]["least"] == 0.9


def test_one_that_stays_unlike_is_said_on_its_card(bench: Bench) -> None:
    bench.likeness[SIDE] = 0.2
    stage = bench.open(sources=["red.jpg"], sample=0.1)
    crowd = [[face(track=1), face(160, track=2)]] * 5
    tokens, _ = process(stage, *crowd)
    assert [DRIFT in token.fields for token in tokens] == [True, False, False, True, False]
    assert tokens[0].fields[DRIFT] == 0.2
    stage.end()
    facts = bench.reports["similarity"]
    assert (facts["looks"], facts["below"], facts["made_again"]) == (4, 4, 0)
    assert "4 of 4 looks" in bench.warnings[0]


def test_no_look_is_taken_where_any_likeness_will_do(bench: Bench) -> None:
    stage = bench.open(sources=["red.jpg"], drift=0)
    process(stage, [face(track=1)])
    stage.end()
    assert bench.reports["similarity"] == {"looks": 0, "limit": 0.0}
    assert not bench.warnings


def test_the_way_back_from_a_smaller_size_is_the_swapper_of_the_start(bench: Bench) -> None:
    stage = bench.open(sources=["red.jpg"])
    first = bench.swappers[SIDE]
    for size, side in ((32, 32), (0, SIDE), (200, SIDE)):
        stage.tune(replace_option(stage.options, size=size))
        (token,), (frame,) = process(stage, [face()])
        assert frame.attached(token.faces[0], SWAP).shape[0] == side
    assert bench.swappers[SIDE] is first


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "there is no source photo"),
        ({"sources": ["red.jpg"], "map": ["a=b"]}, "contradict each other"),
        ({"sources": ["red.jpg"], "model": "inswapper"}, "'inswapper' is no swapper"),
        ({"sources": ["red.jpg"], "model": "x.onnx", "size": 64}, "a size of its own"),
    ],
)
def test_what_cannot_be_is_refused_before_a_frame(
    bench: Bench, options: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        bench.open(**options)


def replace_option(options: SwapOptions, **changed: Any) -> SwapOptions:
    return msgspec.structs.replace(options, **changed)
