"""The detect stage: real faces, in every format, size and turn, alone and in batches."""

from __future__ import annotations

from typing import Any

import cv2
import msgspec
import numpy as np
import pytest
import scenes
from scenes import FACES

from mpflow.errors import ConfigError, MpflowError
from mpflow.memory import MemorySlot
from mpflow.models.detections import Detections
from mpflow.models.sizes import auto_size
from mpflow.models.store import ModelStore
from mpflow.models.upright import to_faces
from mpflow.spec import JobSpec, MediaInfo, VideoInfo
from mpflow.stage import Job, StageContext, Work
from mpflow.stages.detect import Detect, DetectOptions
from mpflow.tokens import Face, Sighting, Token


def stage(store: ModelStore, name: str = "yunet", **options: Any) -> Detect:
    chosen = {"path": str(store.path(name)), "model": name, "device": "cpu", **options}
    made = Detect(msgspec.convert(chosen, DetectOptions), StageContext("detect"))
    made.open()
    return made


def job(slot: MemorySlot, rotation: int = 0) -> Job:
    layout = slot.layout
    video = VideoInfo(
        index=0,
        codec="none",
        width=layout.width,
        height=layout.height,
        pixel_format=layout.format.name,
        source_format=layout.format.name,
        time_base=(1, 25),
        rotation=rotation,
    )
    return Job(JobSpec("job", "in"), MediaInfo("in", "none", video))


def faces_of(detect: Detect, *slots: MemorySlot, rotation: int = 0) -> list[tuple[Face, ...]]:
    detect.begin(job(slots[0], rotation))
    batch = [Work(Token("run", n), slot.frame()) for n, slot in enumerate(slots)]
    tokens = [*detect.process(batch), *detect.flush()]
    detect.end()
    assert [token.seq for token in tokens] == list(range(len(slots)))
    return [token.faces for token in tokens]


def centres(faces: tuple[Face, ...]) -> np.ndarray:
    found = [((f.box[0] + f.box[2]) / 2, (f.box[1] + f.box[3]) / 2) for f in faces]
    return np.array(sorted(found))


@pytest.fixture(scope="module")
def detect(model_store: ModelStore) -> Detect:
    return stage(model_store)


@pytest.fixture(scope="module")
def group(model_store: ModelStore) -> scenes.Picture:
    return scenes.scene(model_store)


@pytest.mark.parametrize("name", ["yuv420p", "nv12", "yuv422p", "yuv444p10le", "p010le", "gray"])
def test_all_seven_faces_are_found_in_every_format(
    detect: Detect, group: scenes.Picture, name: str
) -> None:
    (faces,) = faces_of(detect, scenes.slot(group, name))
    assert len(faces) == FACES


@pytest.mark.parametrize("height", [1080, 720, 540, 362])
@pytest.mark.parametrize("size", ["auto", "640x384"])
def test_all_seven_faces_are_found_at_every_size(
    model_store: ModelStore, height: int, size: str
) -> None:
    slot = scenes.slot(scenes.scene(model_store, height))
    (faces,) = faces_of(stage(model_store, size=size), slot)
    assert len(faces) == FACES


def test_the_points_of_a_face_lie_in_its_box_in_their_order(
    detect: Detect, group: scenes.Picture
) -> None:
    (faces,) = faces_of(detect, scenes.slot(group))
    for face in faces:
        left_eye, right_eye, nose, left_mouth, right_mouth = face.points
        assert left_eye[0] < right_eye[0]
        assert left_mouth[0] < right_mouth[0]
        assert max(left_eye[1], right_eye[1]) < nose[1] < min(left_mouth[1], right_mouth[1])
        x1, y1, x2, y2 = face.box
        assert all(x1 < x < x2 and y1 < y < y2 for x, y in face.points)
        assert 0.6 <= face.score <= 1


@pytest.mark.parametrize("rotation", [90, 180, 270, -90])
def test_faces_are_found_in_a_stream_that_is_turned(
    detect: Detect, group: scenes.Picture, rotation: int
) -> None:
    """The decoder gives the stored picture; ``rotation`` counter-clockwise makes it upright."""
    (upright,) = faces_of(detect, scenes.slot(group))
    stored = np.ascontiguousarray(np.rot90(group, -rotation // 90))
    (turned,) = faces_of(detect, scenes.slot(stored), rotation=rotation)
    assert len(turned) == FACES
    height, width = stored.shape[:2]
    back = {
        90: lambda x, y: (y, width - x),
        180: lambda x, y: (width - x, height - y),
        270: lambda x, y: (height - y, x),
    }[rotation % 360]
    moved = np.array(sorted(back(x, y) for x, y in centres(turned)))
    np.testing.assert_allclose(moved, centres(upright), atol=6)
    for face in turned:
        x1, y1, x2, y2 = face.box
        assert all(x1 < x < x2 and y1 < y < y2 for x, y in face.points)


def test_a_batch_finds_what_single_frames_find(
    detect: Detect, model_store: ModelStore, group: scenes.Picture
) -> None:
    empty = np.full_like(group, 90)
    slots = [scenes.slot(picture) for picture in (group, empty, group[:, ::-1], group)]
    single = [faces_of(detect, slot)[0] for slot in slots]
    batched = faces_of(stage(model_store, max_batch=4), *slots)
    assert [len(faces) for faces in batched] == [FACES, 0, FACES, FACES]
    for one, other in zip(single, batched, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a.box, b.box, atol=0.05)
    smaller = faces_of(stage(model_store, max_batch=4), *slots[:2])
    assert [len(faces) for faces in smaller] == [FACES, 0]


def test_a_smaller_batch_after_a_larger_keeps_no_face_of_it(
    detect: Detect, group: scenes.Picture
) -> None:
    empty = scenes.slot(np.full_like(group, 90))
    faces_of(detect, scenes.slot(group), scenes.slot(group))
    assert faces_of(detect, empty) == [()]


def test_frames_of_another_size_follow_without_a_new_stage(
    detect: Detect, model_store: ModelStore, group: scenes.Picture
) -> None:
    upright = scenes.slot(np.ascontiguousarray(group[:, 700:1300]))
    for slot in (scenes.slot(group), upright, scenes.slot(scenes.scene(model_store, 360))):
        assert faces_of(detect, slot)[0]


def test_the_second_detector_can_be_chosen(model_store: ModelStore, group: scenes.Picture) -> None:
    (faces,) = faces_of(stage(model_store, "centerface", score=0.35), scenes.slot(group))
    assert len(faces) == FACES


def test_the_report_says_what_runs(model_store: ModelStore) -> None:
    facts: dict[str, Any] = {}
    options = DetectOptions(path=str(model_store.path("yunet")), device="cpu")
    Detect(options, StageContext("detect", threads=2, report=facts.__setitem__)).open()
    assert facts["session"]["device"] == "cpu"
    assert facts["session"]["providers"] == ("CPUExecutionProvider",)
    assert facts["session"]["threads"] == 2


def test_opencv_keeps_to_the_threads_it_was_given(model_store: ModelStore) -> None:
    stage(model_store, threads=1)
    assert cv2.getNumThreads() == 1


def test_batch_and_waiting_come_from_the_options() -> None:
    context = StageContext("detect")
    assert Detect(DetectOptions(), context).max_wait_ms == 15
    several = Detect(DetectOptions(max_batch=8, max_wait_ms=3), context)
    assert (several.max_batch, several.max_wait_ms) == (8, 3)


@pytest.mark.parametrize("size", ["640", "640x380", "0x0", "640x384x3", "big", "32x99999", ""])
def test_a_size_that_does_not_fit_is_named(size: str) -> None:
    with pytest.raises(ConfigError, match="multiples of 32"):
        msgspec.convert({"size": size}, DetectOptions)


@pytest.mark.parametrize(
    "options",
    [{"score": 0}, {"score": 1.5}, {"max_batch": 0}, {"every": 0}, {"ever": 2}, {"threads": -1}],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(options, DetectOptions)


@pytest.mark.parametrize(
    ("width", "height", "expected"),
    [
        (1920, 1080, (640, 384)),
        (1080, 1920, (384, 640)),
        (3840, 2160, (640, 384)),
        (640, 640, (640, 640)),
        (176, 144, (352, 288)),
        (20, 10, (64, 32)),
        (4000, 10, (640, 32)),
    ],
)
def test_auto_keeps_the_shape_and_enlarges_little(
    width: int, height: int, expected: tuple[int, int]
) -> None:
    assert auto_size(width, height) == expected


def test_the_longer_side_of_an_auto_size_can_be_chosen(
    model_store: ModelStore, group: scenes.Picture
) -> None:
    """A group far away is found by looking more closely, also when that is said later on."""
    assert auto_size(1920, 1080, side=960) == (960, 544)
    assert auto_size(176, 144, side=960) == (352, 288)
    far = cv2.resize(group, (480, 270), interpolation=cv2.INTER_AREA).astype(np.uint8)
    table = np.full((1080, 1920, 3), 110, np.uint8)
    table[400:670, 700:1180] = far
    slot = scenes.slot(table)
    detect = stage(model_store)
    (few,) = faces_of(detect, slot)
    tuned(detect, side=1280)
    (all_of_them,) = faces_of(detect, slot)
    assert len(few) < len(all_of_them) == FACES


def test_points_of_a_turned_picture_go_back_to_their_pixels() -> None:
    picture = np.arange(6 * 4).reshape(6, 4)
    for turns in range(4):
        upright = np.rot90(picture, turns)
        for value in range(picture.size):
            (y, x), (row, column) = (np.argwhere(where == value)[0] for where in (upright, picture))
            box = np.array([[x, y, x, y]], np.float32)
            found = Detections(box, np.ones(1, np.float32), np.full((1, 5, 2), (x, y), np.float32))
            (face,) = to_faces(found, 1.0, (4, 6), turns)
            assert face.points[0] == (column, row)
            assert face.box == (column, row, column, row)


def tuned(detect: Detect, **options: Any) -> None:
    detect.tune(msgspec.structs.replace(detect.options, **options))


def counting(store: ModelStore, **options: Any) -> tuple[Detect, dict[str, int]]:
    counts: dict[str, int] = {}

    def count(name: str, more: int) -> None:
        counts[name] = counts.get(name, 0) + more

    chosen = {"path": str(store.path("yunet")), "device": "cpu", **options}
    made = Detect(msgspec.convert(chosen, DetectOptions), StageContext("detect", count=count))
    made.open()
    return made, counts


def moved(picture: scenes.Picture, by: int) -> scenes.Picture:
    return np.roll(picture, by, axis=1)


def test_one_session_serves_every_size_and_every_input(
    model_store: ModelStore, group: scenes.Picture
) -> None:
    """Row 29 of users' pains, as far as a processor goes."""
    detect, counts = counting(model_store)
    for size in ("auto", "640x384", "320x192", "640x640", "auto"):
        tuned(detect, size=size)
        for height in (1080, 360):
            assert faces_of(detect, scenes.slot(scenes.scene(model_store, height)))[0]
    assert counts == {"sessions": 1}


def test_options_that_are_tuned_hold_from_the_next_batch(
    model_store: ModelStore, group: scenes.Picture
) -> None:
    detect, counts = counting(model_store)
    slot = scenes.slot(group)
    assert len(faces_of(detect, slot)[0]) == FACES
    tuned(detect, score=0.99)
    assert len(faces_of(detect, slot)[0]) == 0
    tuned(detect, score=0.6, size="320x192")
    assert 0 < len(faces_of(detect, slot)[0]) <= FACES
    assert counts == {"sessions": 1}
    tuned(detect, threads=2)
    assert (counts, cv2.getNumThreads()) == ({"sessions": 2}, 2)
    tuned(detect, threads=2)
    assert counts == {"sessions": 2}
    assert len(faces_of(detect, slot)[0])


def test_faces_that_move_stay_inside_their_boxes_between_two_looks(
    model_store: ModelStore, group: scenes.Picture
) -> None:
    """The picture moves by a twelfth of a face's size with each frame."""
    slots = [scenes.slot(moved(group, 10 * n)) for n in range(6)]
    every = faces_of(stage(model_store, max_batch=8), *slots)
    some = faces_of(stage(model_store, max_batch=8, every=3), *slots)
    assert [len(faces) for faces in every] == [FACES] * 6
    for exact, carried in zip(every, some, strict=True):
        assert len(carried) == FACES
        for face in exact:
            assert any(inside(face, other) for other in carried)


def inside(face: Face, other: Face) -> bool:
    """Whether a face lies in another's box, give or take a tenth: it is covered with a margin."""
    x1, y1, x2, y2 = face.box
    slack = 0.1 * max(x2 - x1, y2 - y1)
    a1, b1, a2, b2 = other.box
    return a1 - slack <= x1 and b1 - slack <= y1 and a2 + slack >= x2 and b2 + slack >= y2


def test_a_new_scene_between_two_looks_is_looked_at(
    model_store: ModelStore, group: scenes.Picture
) -> None:
    dark = scenes.slot(np.zeros_like(group))
    detect = stage(model_store, max_batch=8, every=10)
    found = faces_of(detect, dark, dark, scenes.slot(group), scenes.slot(group))
    assert [len(faces) for faces in found] == [0, 0, FACES, FACES]


def test_a_face_that_comes_between_two_looks_is_covered_from_there_on(
    model_store: ModelStore, group: scenes.Picture
) -> None:
    """Some of seven faces are hidden at first; the look at frame 3 finds them, and 1 and 2 wait."""
    few = group.copy()
    few[:, :500] = 110
    slots = [scenes.slot(picture) for picture in (few, few, group, group)]
    found = faces_of(stage(model_store, max_batch=8, every=3), *slots)
    assert 0 < len(found[0]) < FACES
    assert [len(faces) for faces in found[1:]] == [FACES] * 3


def between_looks(
    detect: Detect, few: MemorySlot, all_: MemorySlot, *, then: int = 1, **options: Any
) -> list[int]:
    """How many faces three frames have: one with few faces, one that waits and has them all, and,
    ``then`` frames later and with other ``options``, the next one."""
    detect.begin(job(few))
    tokens = list(detect.process([Work(timed(0), few.frame())]))
    tokens += detect.process([Work(timed(1), all_.frame())])
    tuned(detect, **options)
    if then:
        tokens += detect.process([Work(timed(1 + then), all_.frame())])
    tokens += detect.flush()
    assert [token.seq for token in tokens] == [0, 1, 1 + then][: len(tokens)]
    return [len(token.faces) for token in tokens]


def timed(seq: int) -> Token:
    return Token("run", seq, pts=seq, time_base=(1, 30))


@pytest.mark.parametrize(
    ("then", "options"),
    [
        (1, {}),
        (1, {"every": 1}),  # the ladder comes down
        (1, {"every": 3}),
        (20, {}),  # frames in between were dropped
        (20, {"every": 1}),
        (0, {}),  # the end of the stream; parked; left out from here on
    ],
)
@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_a_frame_that_waits_for_a_look_leaves_with_the_faces_that_came_with_it(
    model_store: ModelStore,
    group: scenes.Picture,
    ahead: int,
    then: int,
    options: dict[str, Any],
) -> None:
    few = group.copy()
    few[:, :500] = 110
    detect = stage(model_store, every=2, ahead=ahead)
    found = between_looks(detect, scenes.slot(few), scenes.slot(group), then=then, **options)
    assert 0 < found[0] < FACES
    assert found[1:] == [FACES] * (len(found) - 1)


def test_with_several_workers_every_frame_between_no_two_looks_is_looked_at(
    model_store: ModelStore, group: scenes.Picture
) -> None:
    """Another worker has the next look, so nothing waits; one batch alone may have two looks."""
    chosen = {"path": str(model_store.path("yunet")), "device": "cpu", "every": 3}
    few = group.copy()
    few[:, :500] = 110
    slots = [scenes.slot(few), *[scenes.slot(group)] * 4]
    warnings: list[str] = []
    for max_batch, looks in ((1, 5), (5, 3)):
        options = msgspec.convert({**chosen, "max_batch": max_batch}, DetectOptions)
        detect = Detect(options, StageContext("detect", workers=2, warn=warnings.append))
        detect.open()
        detect.begin(job(slots[0]))
        works = [Work(timed(n), slot.frame()) for n, slot in enumerate(slots)]
        tokens = []
        for first in range(0, 5, max_batch):
            tokens += detect.process(works[first : first + max_batch])
        assert [len(token.faces) for token in tokens[1:]] == [FACES] * 4
        assert sum("detect.carried" not in token.fields for token in tokens) == looks
    (warning,) = warnings
    assert warning.startswith("every=3: frames wait for the next look only with one worker")


def test_more_frames_than_may_wait_are_looked_at_and_that_is_said(model_store: ModelStore) -> None:
    warnings: list[str] = []
    options = DetectOptions(path=str(model_store.path("yunet")), device="cpu", ahead=2)
    detect = Detect(options, StageContext("detect", warn=warnings.append))
    detect.open()
    tuned(detect, every=3)
    assert warnings == []
    tuned(detect, every=5)
    assert warnings == ["every=5: only 2 frames may wait for the next look; ahead=4 allows more"]


def test_options_that_cannot_be_had_change_nothing(model_store: ModelStore) -> None:
    detect = stage(model_store)
    before = detect.options
    with pytest.raises(MpflowError):
        tuned(detect, path="/no/such/model.onnx", threads=3)
    assert detect.options == before
    tuned(detect, threads=3)
    assert cv2.getNumThreads() == 3


def test_frames_between_two_looks_say_so(model_store: ModelStore, group: scenes.Picture) -> None:
    detect, slot = stage(model_store, max_batch=8, every=2), scenes.slot(group)
    detect.begin(job(slot))
    tokens = list(detect.process([Work(Token("run", n), slot.frame()) for n in range(5)]))
    carried = [token.fields.get("detect.carried") for token in tokens]
    assert carried == [None, 1, None, 1, None]
    (alone,) = detect.process([Work(Token("run", 5), slot.frame(), alone=True)])
    assert "detect.carried" not in alone.fields


@pytest.mark.parametrize(
    ("options", "workers", "holds"),
    [({}, 1, 0), ({"every": 3}, 1, 2), ({"ahead": 2}, 1, 2), ({"every": 3}, 2, 0)],
)
def test_as_many_frames_wait_as_looks_are_apart(
    options: dict[str, Any], workers: int, holds: int
) -> None:
    detect = Detect(DetectOptions(**options), StageContext("detect", workers=workers))
    assert detect.holds == holds
    detect.options = DetectOptions(every=9)
    assert detect.holds == holds


def test_with_less_room_it_looks_at_what_cannot_wait(
    model_store: ModelStore, group: scenes.Picture
) -> None:
    slot, detect = scenes.slot(group), stage(model_store, every=3)

    def carried() -> list[int]:
        works = [[Work(Token("run", seq), slot.frame())] for seq in range(7)]
        tokens = [token for work in works for token in detect.process(work)]
        tokens += detect.flush()
        assert all(token.faces for token in tokens)
        return [token.seq for token in tokens if "detect.carried" in token.fields]

    assert (detect.holds, detect.least_holds) == (2, 0)
    assert carried() == [1, 2, 4, 5]
    for room, left in ((1, [1, 4]), (0, []), (2, [1, 2, 4, 5])):
        detect.room = room
        detect.begin(job(slot))
        assert carried() == left, room


def test_weak_finds_are_given_as_such_and_the_others_stay_the_same(
    detect: Detect, model_store: ModelStore, group: scenes.Picture
) -> None:
    slot = scenes.slot(group)
    ((*sure,),) = faces_of(stage(model_store, score=0.9), slot)
    ((*both,),) = faces_of(stage(model_store, score=0.9, weak=0.5), slot)
    assert [face for face in both if face.sighting is Sighting.SEEN] == sure
    weak = [face for face in both if face.sighting is Sighting.WEAK]
    assert len(weak) >= FACES - len(sure) > 0
    assert all(0.5 <= face.score < 0.9 for face in weak)


def test_every_auto_holds_as_many_frames_as_most_says(model_store: ModelStore) -> None:
    made = stage(model_store, every="auto", most=4)
    assert made.holds == 3
    assert stage(model_store).holds == 0


def test_every_auto_looks_at_fewer_frames_of_somebody_who_stands_still(
    model_store: ModelStore, group: scenes.Picture
) -> None:
    slot = scenes.slot(group)
    detect = stage(model_store, every="auto")
    detect.begin(job(slot))
    tokens = []
    for n in range(24):
        tokens += detect.process([Work(Token("run", n, pts=n, time_base=(1, 30)), slot.frame())])
    tokens += detect.flush()
    assert [token.seq for token in tokens] == list(range(24))
    assert all(len(token.faces) == FACES for token in tokens)
    looks = [token.seq for token in tokens if "detect.carried" not in token.fields]
    assert looks == [0, 1, 3, 6, 10, 15, 20, 23]
    carried = [token for token in tokens if token.seq not in looks]
    assert {face.sighting for each in carried for face in each.faces} == {Sighting.CARRIED}
