"""The embed stage on real faces: marks, few looks, nothing kept, a memory that can be rebuilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import people
import pytest
import scenes

from mpflow import wire
from mpflow.errors import ConfigError, ModelError, Refused
from mpflow.identity.sight import quality_of
from mpflow.models.store import ModelStore
from mpflow.spec import JobSpec, MediaInfo, VideoInfo
from mpflow.stage import Job, StageContext, Work
from mpflow.stages.embed import CHECK, LOOKS, Embed, EmbedOptions
from mpflow.tokens import Face, Sighting, Token

CAST = ["person-a-1", "impostor-1", "person-b-1", ""]
RATE = 25


def opened(folder: Path | str, **options: Any) -> tuple[Embed, dict[str, Any]]:
    """A stage that has begun, and what it says of itself; opened once for the same options."""
    stage, reports = _opened(str(folder), **options)
    stage.end()
    stage.room = None
    stage.begin(job())
    return stage, reports


@cache
def _opened(folder: str, **options: Any) -> tuple[Embed, dict[str, Any]]:
    reports: dict[str, Any] = {}
    chosen = msgspec.convert({"gallery": folder, "device": "cpu", **options}, EmbedOptions)
    stage = Embed(chosen, StageContext("embed", report=reports.__setitem__))
    stage.open()
    return stage, reports


def job() -> Job:
    video = VideoInfo(0, "none", 1152, 320, "yuv420p", "yuv420p", (1, RATE))
    return Job(JobSpec("job", "in"), MediaInfo("in", "none", video))


@pytest.fixture(scope="module")
def anna(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gallery of person A, by another photo than the one that is seen."""
    folder = tmp_path_factory.mktemp("anna")
    return people.gallery(model_store, folder, {"anna": ["person-a-2"]})


@pytest.fixture(scope="module")
def slot(model_store: ModelStore) -> Any:
    return scenes.slot(people.picture(model_store, CAST))


@pytest.fixture(scope="module")
def seen(model_store: ModelStore, slot: Any) -> tuple[Face, ...]:
    """The faces of the cast, each with the number of its place as its track."""
    from mpflow.stages.detect import Detect, DetectOptions

    options = DetectOptions(path=str(model_store.path("yunet")), device="cpu", size="640x192")
    detect = Detect(options, StageContext("detect"))
    detect.open()
    detect.begin(job())
    (token,) = detect.process([Work(Token("run", 0), slot.frame())])
    in_order = sorted(token.faces, key=lambda face: face.box[0])
    assert len(in_order) == 3
    return tuple(replace(face, track=number) for number, face in enumerate(in_order))


def frames(faces: Sequence[Sequence[Face]]) -> list[Token]:
    """Cards of frames with these faces, 25 a second."""
    return [
        Token("run", seq, pts=seq, time_base=(1, RATE), faces=tuple(each))
        for seq, each in enumerate(faces)
    ]


def run(stage: Embed, tokens: Sequence[Token], slot: Any) -> list[Token]:
    given = []
    for token in tokens:
        given += stage.process([Work(token, slot.frame())])
    return [*given, *stage.flush()]


def marks(token: Token) -> list[str | None]:
    return [face.identity for face in token.faces]


def test_a_person_is_known_by_another_photo_and_nobody_else_is(
    anna: Path, seen: tuple[Face, ...], slot: Any
) -> None:
    stage, reports = opened(anna)
    given = run(stage, frames([seen] * 60), slot)
    assert marks(given[0]) == ["p0", None, None], "nobody is another at the first look"
    assert {tuple(marks(token)) for token in given[6:]} == {("p0", "other", "other")}
    stage.end()
    assert reports["tracks"] == 3
    assert reports["embeddings"] <= 3 * 4, "by far not in every frame"
    assert reports["gallery"] == {"people": 1, "photos": 1}


def test_frames_that_wait_have_the_marks_from_the_first_one_on(
    anna: Path, seen: tuple[Face, ...], slot: Any
) -> None:
    stage, _ = opened(anna, ahead=8)
    assert stage.holds == 8
    unseen = [replace(face, sighting=Sighting.EXTENDED, points=()) for face in seen]
    given = run(stage, frames([unseen, unseen, *[seen] * 20]), slot)
    assert [token.seq for token in given] == list(range(22))
    assert {tuple(marks(token)) for token in given} == {("p0", "other", "other")}


def test_with_less_room_fewer_frames_wait(anna: Path, seen: tuple[Face, ...], slot: Any) -> None:
    stage, _ = opened(anna, ahead=8)
    assert stage.least_holds == 1, "a fresh worker is told what looks strange on the next frame"
    assert opened(anna)[0].least_holds == 0
    stage.room = 1
    works = [[Work(token, slot.frame())] for token in frames([seen] * 5)]
    given = [list(stage.process(work)) for work in works]
    assert [len(each) for each in given] == [0, 1, 1, 1, 1]
    assert marks(given[1][0])[0] == "p0"


def test_a_crowd_is_looked_at_a_few_in_each_frame(
    anna: Path, seen: tuple[Face, ...], slot: Any
) -> None:
    stage, _ = opened(anna, faces=2)
    given = run(stage, frames([seen] * 3), slot)
    assert [len(token.fields.get(LOOKS, ())) for token in given] == [2, 1, 0]
    best = max(seen, key=quality_of)
    assert best.track in {track for track, _, _ in given[0].fields[LOOKS]}


def test_faces_that_cannot_be_known_have_no_mark(
    anna: Path, seen: tuple[Face, ...], slot: Any
) -> None:
    stage, _ = opened(anna)
    face = seen[0]
    tiny = replace(face, box=(10.0, 10.0, 22.0, 24.0))
    cases = [
        replace(face, track=None),
        replace(tiny, track=7),
        replace(face, track=8, points=()),
        replace(face, track=9, pose=(85.0, 0.0, 0.0)),
        replace(face, track=10, sighting=Sighting.WEAK),
    ]
    apart = [replace(each, box=_moved(each, 200 * n)) for n, each in enumerate(cases)]
    (token,) = run(stage, frames([apart]), slot)
    assert marks(token) == [None] * len(cases)
    assert LOOKS not in token.fields


def _moved(face: Face, by: float) -> tuple[float, float, float, float]:
    """The box by itself: boxes that meet would be another reason."""
    x1, y1, x2, y2 = face.box
    return x1 + by, y1, x2 + by, y2


def test_a_track_that_slips_to_another_person_loses_its_mark_at_once(
    anna: Path, seen: tuple[Face, ...], slot: Any
) -> None:
    stage, _ = opened(anna)
    slipped = [replace(seen[1], track=0)]
    given = run(stage, frames([*[seen[:1]] * 3, *[slipped] * 12]), slot)
    assert [marks(token) for token in given[:3]] == [["p0"]] * 3
    assert all(marks(token) != ["p0"] for token in given[3:])


@pytest.mark.parametrize("looks", [1, 3])
def test_who_takes_a_persons_place_between_two_frames_does_not_get_the_mark(
    model_store: ModelStore, anna: Path, seen: tuple[Face, ...], slot: Any, looks: int
) -> None:
    """A cut before the same wall: the track goes on, and nothing jumps."""
    stage, _ = opened(anna, ahead=8)
    other = scenes.slot(people.picture(model_store, ["impostor-1", *CAST[1:]]))
    filled = replace(seen[0], sighting=Sighting.FILLED)
    tokens = frames([seen[:1] if n % looks == 0 else [filled] for n in range(60)])
    given = [t for t in tokens[:31] for t in stage.process([Work(t, slot.frame())])]
    given += [t for t in tokens[31:] for t in stage.process([Work(t, other.frame())])]
    given += stage.flush()
    assert {tuple(marks(token)) for token in given[: 31 - looks + 1]} == {("p0",)}
    assert {tuple(marks(token)) for token in given[31:]} <= {(None,), ("other",)}
    assert {tuple(marks(token)) for token in given[45:]} == {("other",)}


@pytest.mark.parametrize(("looks", "room"), [(3, 1), (3, 2), (8, 1), (8, 7)])
def test_with_less_room_nobody_has_the_mark_of_who_was_there_before(
    model_store: ModelStore,
    anna: Path,
    seen: tuple[Face, ...],
    slot: Any,
    *,
    looks: int,
    room: int,
) -> None:
    """Frames on which the face was not seen are behind the cut, and its next sight is far off."""
    stage, _ = opened(anna, ahead=8)
    stage.room = room
    other = scenes.slot(people.picture(model_store, ["impostor-1", *CAST[1:]]))
    filled = replace(seen[0], sighting=Sighting.FILLED)
    cut = 30 // looks * looks + 1
    tokens = frames([seen[:1] if n % looks == 0 else [filled] for n in range(cut + 20)])
    given = [t for t in tokens[:cut] for t in stage.process([Work(t, slot.frame())])]
    given += [t for t in tokens[cut:] for t in stage.process([Work(t, other.frame())])]
    given += stage.flush()
    assert len(given) == len(tokens)
    assert {tuple(marks(token)) for token in given[cut:]} <= {(None,), ("other",)}
    assert [marks(token) for token in given[looks:cut:looks]] == [["p0"]] * (cut // looks)


def test_no_number_of_a_face_leaves_the_stage(
    anna: Path, seen: tuple[Face, ...], slot: Any
) -> None:
    stage, reports = opened(anna)
    (token,) = run(stage, frames([seen]), slot)
    rows = token.fields[LOOKS]
    assert {track: mark for track, mark, _ in rows} == {0: "p0", 1: "other", 2: "other"}
    assert 0 <= token.fields[CHECK] < 1 << 16
    packed = wire.pack(token)
    assert len(packed) < 1500
    assert b"anna" not in packed
    assert "anna" not in str(dict(reports))


@pytest.mark.parametrize("after", [27, 30, 31])
def test_a_fresh_worker_knows_of_a_face_that_will_look_like_anothers(
    model_store: ModelStore, anna: Path, seen: tuple[Face, ...], slot: Any, after: int
) -> None:
    other = scenes.slot(people.picture(model_store, ["impostor-1", *CAST[1:]]))
    filled = replace(seen[0], sighting=Sighting.FILLED)
    tokens = frames([seen[:1] if n % 3 == 0 else [filled] for n in range(50)])
    works = [Work(t, (slot if t.seq < 31 else other).frame()) for t in tokens]
    stage, _ = opened(anna, ahead=8)
    whole = [t for work in works for t in stage.process([work])]
    first = whole[:after]
    restarted(stage, first)
    rest = [t for work in works[after:] for t in stage.process([work])]
    assert [marks(token) for token in first + rest] == [marks(token) for token in whole]


def restarted(stage: Embed, given: Sequence[Token]) -> None:
    """Take the stage to a new beginning that knows only what a log keeps of finished frames."""
    log = [wire.unpack(wire.pack(token)) for token in given]
    stage.begin(job())
    stage.recall(iter(log))


@pytest.mark.parametrize("ahead", [0, 5])
@pytest.mark.parametrize("after", [1, 4, 30])
def test_a_fresh_worker_goes_on_as_the_dead_one_would_have(
    anna: Path, seen: tuple[Face, ...], slot: Any, ahead: int, after: int
) -> None:
    slips = [*[seen] * 20, *[[replace(seen[1], track=0), seen[2]]] * 30]
    stage, _ = opened(anna, ahead=ahead)
    undisturbed = run(stage, frames(slips), slot)
    restarted(stage, undisturbed[:after])
    assert run(stage, frames(slips)[after:], slot) == undisturbed[after:]


def test_another_gallery_than_the_earlier_runs_is_refused(
    model_store: ModelStore, anna: Path, seen: tuple[Face, ...], slot: Any, tmp_path: Path
) -> None:
    first, _ = opened(anna)
    given = run(first, frames([seen]), slot)
    other, _ = opened(people.gallery(model_store, tmp_path / "other", {"bea": ["person-b-2"]}))
    with pytest.raises(Refused, match="not the one"):
        restarted(other, given)


def test_a_gallery_is_needed(anna: Path) -> None:
    with pytest.raises(ConfigError, match="has no gallery"):
        opened("")
    with pytest.raises(ConfigError, match="cannot be read"):
        opened(anna / "gone")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"same": 0.4, "other": 0.5}, "must not be above"),
        ({"same": 1.0}, "same"),
        ({"ahead": -1}, "ahead"),
    ],
)
def test_thresholds_have_to_make_sense(options: dict[str, Any], error: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=error):
        msgspec.convert(options, EmbedOptions)


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_picture_that_is_stored_turned_makes_no_difference(
    model_store: ModelStore, anna: Path, seen: tuple[Face, ...], turns: int
) -> None:
    picture = people.picture(model_store, CAST)
    turned = scenes.slot(np.ascontiguousarray(np.rot90(picture, turns)))
    height, width = picture.shape[:2]
    faces = [_turned(face, turns, width, height) for face in seen]
    stage, _ = opened(anna)
    given = run(stage, frames([faces] * 12), turned)
    assert marks(given[-1]) == ["p0", "other", "other"]


def _turned(face: Face, turns: int, width: int, height: int) -> Face:
    """The face in the picture after so many quarter turns counter-clockwise."""

    def place(x: float, y: float) -> tuple[float, float]:
        return {1: (y, width - 1 - x), 2: (width - 1 - x, height - 1 - y), 3: (height - 1 - y, x)}[
            turns
        ]

    (x1, y1), (x2, y2) = place(*face.box[:2]), place(*face.box[2:])
    box = min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)
    return replace(face, box=box, points=tuple(place(*point) for point in face.points))


def test_thresholds_of_ones_own_count(anna: Path, seen: tuple[Face, ...], slot: Any) -> None:
    stage, reports = opened(anna, same=0.95, other=0.2)
    (token,) = run(stage, frames([seen]), slot)
    assert marks(token)[0] is None
    assert reports["thresholds"] == {"same": 0.95, "other": 0.2}


def test_a_model_that_is_no_embedder_is_named(anna: Path) -> None:
    with pytest.raises(ModelError, match="'yunet' is no embedder"):
        opened(anna, model="yunet")
