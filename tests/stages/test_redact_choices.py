"""The redact stage: whom it covers, when, in which form, and with what picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from mpflow.accounts import COVERED, LEFT, OPEN
from mpflow.config import resolve
from mpflow.errors import ConfigError
from mpflow.memory import MemorySlot
from mpflow.side import bytes_for
from mpflow.spec import Job, JobSpec, MediaInfo, VideoInfo
from mpflow.stage import StageContext, Work
from mpflow.stages.redact import Redact, RedactOptions
from mpflow.tokens import Face, FrameState, Sighting, Token

WIDTH, HEIGHT = 200, 160
BOX = (80.0, 50.0, 120.0, 110.0)
POINTS = ((92.0, 75.0), (108.0, 75.0), (100.0, 85.0), (94.0, 95.0), (106.0, 95.0))
FACE = Face(BOX, 0.9, POINTS)


def job(start: int = 0, rotation: int = 0, live: bool = False, **video: Any) -> Job:
    """A job over 100 frames of ten a second, whose first is stamped 3 s."""
    info = VideoInfo(
        0, "h264", WIDTH, HEIGHT, "yuv420p", "yuv420p", (1, 100), (10, 1), rotation=rotation
    )
    info = msgspec.structs.replace(info, **{"start": 300, "frames": 100, **video})
    media = MediaInfo("in.mp4", "mp4", info, duration=10.0)
    return Job(JobSpec("1", "in.mp4", start=start, live=live), media)


def stage(on: Job | None = None, **options: Any) -> Redact:
    made = Redact(msgspec.convert(options, RedactOptions), StageContext("redact"))
    made.open()
    if on is not None:
        made.begin(on)
    return made


def checkered() -> MemorySlot:
    """A picture in which every pixel that is covered shows."""
    slot = MemorySlot.of("yuv420p", WIDTH, HEIGHT, side_bytes=bytes_for((468, 3), "f4"))
    luma, *chroma = slot.frame().fill_planes()
    luma[:] = 40 + 160 * (np.indices(luma.shape).sum(axis=0) % 2)
    for plane in chroma:
        plane[:] = 128
    return slot


def touched(slot: MemorySlot) -> npt.NDArray[np.bool_]:
    """Where the luma is not as it was."""
    changed: npt.NDArray[np.bool_] = slot.frame().planes[0] != checkered().frame().planes[0]
    return changed


def redact(made: Redact, token: Token, slot: MemorySlot | None = None) -> tuple[Token, MemorySlot]:
    slot = slot or checkered()
    (result,) = made.process([Work(token, slot.frame(journaled=True))])
    return result, slot


def at(frame: int, **more: Any) -> Token:
    """The token of a frame of the job, stamped as the job says."""
    values: dict[str, Any] = {
        "pts": 300 + 10 * frame,
        "time_base": (1, 100),
        "duration": 10,
        "faces": (FACE,),
    }
    return Token("1", frame, **{**values, **more})


def counts(token: Token) -> tuple[int, int]:
    """How many faces a card says to be covered, and left open."""
    return token.fields.get(COVERED, 0), token.fields.get(OPEN, 0)


@pytest.mark.parametrize(
    ("spans", "covers"),
    [
        ("", range(100)),
        ("0:02-0:04", range(20, 40)),
        ("f20-f39", range(20, 40)),
        ("0:01-0:02,9-", [*range(10, 20), *range(90, 100)]),
    ],
)
def test_only_frames_within_the_spans_are_covered_and_the_others_say_so(
    spans: str, covers: Any
) -> None:
    made = stage(job(), spans=spans)
    for frame in (0, 9, 10, 19, 20, 39, 40, 89, 90, 99):
        token, slot = redact(made, at(frame))
        assert touched(slot).any() == (frame in covers)
        assert token.fields.get(LEFT, False) == (frame not in covers)
        assert counts(token) == ((1, 0) if frame in covers else (0, 1))


def test_frames_and_times_of_a_range_count_from_the_inputs_first_frame() -> None:
    """A chunk of a farm begins somewhere in the middle, and covers what one run would."""
    for spans in ("f50-f59", "5-6"):
        made = stage(job(start=45), spans=spans)
        for frame, covers in ((4, False), (5, True), (14, True), (15, False)):
            _, slot = redact(made, at(frame, pts=300 + 10 * (frame + 45)))
            assert touched(slot).any() == covers


def test_a_frame_of_unknown_time_is_covered_and_one_of_unknown_length_for_as_long_as_usual() -> (
    None
):
    made = stage(job(), spans="5-6")
    assert touched(redact(made, at(0, pts=None))[1]).any()
    assert touched(redact(made, at(49, pts=300 + 495, duration=0))[1]).any()
    assert not touched(redact(made, at(49, pts=300 + 489, duration=0))[1]).any()


def test_a_frame_that_failed_is_covered_outside_of_the_spans_too() -> None:
    token, slot = redact(stage(job(), spans="5-6"), at(0, state=FrameState.MASKED))
    assert (slot.frame().planes[0] == slot.frame().planes[0][0, 0]).all()
    assert LEFT not in token.fields


@pytest.mark.parametrize(
    ("spans", "says"),
    [
        ("0:05-0:20", "the span 0:05-0:20 is not within it"),
        ("0:10-", "10.00 s of picture"),
        ("f100-", "100 frames, f0-f99"),
        ("1-2,f99-f100", "the span f99-f100"),
    ],
)
def test_spans_that_an_input_does_not_have_are_refused(spans: str, says: str) -> None:
    on = job()
    options = msgspec.convert({"spans": spans}, RedactOptions)
    with pytest.raises(ConfigError, match=says):
        Redact.check_input(options, on.spec, on.media)


def test_spans_that_meet_no_frame_that_is_wanted_are_refused_but_for_one_chunk_of_many() -> None:
    options = msgspec.convert({"spans": "f60-"}, RedactOptions)
    media = job().media
    wanted = msgspec.structs.replace(job().spec, stop=30)
    with pytest.raises(ConfigError, match="no frame of 0-29 lies within the spans f60-"):
        Redact.check_input(options, wanted, media)
    Redact.check_input(options, msgspec.structs.replace(wanted, stop=61), media)
    Redact.check_input(options, msgspec.structs.replace(wanted, chunk=True), media)


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ({}, 0),
        ({"strength": 2.0}, 0),
        ({"strength": 0.5}, 1),
        ({"method": "mosaic", "cells": 6}, 1),
        ({"cells": 6, "strength": 2}, 0),
        ({"strength": 0.1, "method": "solid"}, 0),
    ],
)
def test_a_cover_weaker_than_what_was_measured_is_warned_of(
    options: dict[str, Any], warned: int
) -> None:
    told: list[str] = []
    context = StageContext("redact", warn=told.append)
    Redact(msgspec.convert(options, RedactOptions), context).open()
    assert len(told) == warned
    assert all("it may be known" in text for text in told)


def test_where_frames_are_not_counted_about_as_many_are_taken_for_granted() -> None:
    on = job(frames=None)
    for spans, fits in (("f104-", True), ("f130-", False)):
        options = msgspec.convert({"spans": spans}, RedactOptions)
        if fits:
            Redact.check_input(options, on.spec, on.media)
            continue
        with pytest.raises(ConfigError, match="f130"):
            Redact.check_input(options, on.spec, on.media)


def test_a_stream_has_no_spans() -> None:
    on = job(live=True)
    with pytest.raises(ConfigError, match="a stream has none"):
        Redact.check_input(msgspec.convert({"spans": "1-2"}, RedactOptions), on.spec, on.media)


@pytest.mark.parametrize(
    ("people", "covers"),
    [("all", ["p0", "other", None]), ("except", ["other", None]), ("only", ["p0", None])],
)
def test_people_of_a_gallery_are_left_out_or_meant_alone_and_the_unsure_covered(
    people: str, covers: list[str | None]
) -> None:
    made = stage(people=people)
    for identity in ("p0", "other", None):
        _, slot = redact(made, at(0, faces=(replace(FACE, identity=identity),)))
        assert touched(slot).any() == (identity in covers)
    everybody = tuple(replace(FACE, identity=each) for each in ("p0", "other", None))
    token, _ = redact(made, at(0, faces=everybody))
    assert counts(token) == (len(covers), 3 - len(covers))


@pytest.mark.parametrize("sighting", Sighting)
def test_a_face_is_covered_however_it_is_known(sighting: Sighting) -> None:
    """A weak find that no tracker has taken for a face, or dropped, is a face all the same."""
    _, slot = redact(stage(), at(0, faces=(replace(FACE, score=0.2, sighting=sighting),)))
    np.testing.assert_array_equal(touched(slot), touched(redact(stage(), at(0))[1]))


def test_only_a_mesh_or_some_of_the_people_ask_for_more_than_faces() -> None:
    def needs(**options: Any) -> tuple[str, ...]:
        return Redact.needs_with(msgspec.convert(options, RedactOptions))

    assert needs() == ("faces",)
    assert needs(shape="mesh") == ("faces", "meshes")
    assert needs(people="except") == ("faces", "identities")
    with pytest.raises(ConfigError, match="redact needs meshes"):
        resolve("redact", flags=[("redact.shape", "mesh", "test")], environ={})


def narrow_mesh() -> npt.NDArray[np.float32]:
    """A mesh whose outline is a narrow upright oval in the face's box."""
    angles = np.linspace(0, 2 * np.pi, 468, endpoint=False)
    x, y = 100 + 14 * np.cos(angles), 80 + 30 * np.sin(angles)
    return np.column_stack([x, y, 0 * x]).astype(np.float32)


def test_a_mesh_gives_the_cover_its_form_and_a_face_without_one_an_ellipse() -> None:
    made = stage(shape="mesh", margin=0.0, feather=0.0)
    slot = checkered()
    (face,) = slot.frame().attach((FACE,), {"mesh": [narrow_mesh()]})
    _, slot = redact(made, at(0, faces=(face,)), slot)
    by_mesh = touched(slot)
    ellipse = touched(redact(made, at(0))[1])
    rows, columns = np.nonzero(by_mesh)
    assert (columns.min(), columns.max()) == pytest.approx((86, 114), abs=3)
    assert (rows.min(), rows.max()) == pytest.approx((50, 110), abs=3)
    assert by_mesh.sum() < 0.9 * ellipse.sum()


def test_a_damaged_mesh_hides_no_less_than_none() -> None:
    made = stage(shape="mesh")
    ellipse = touched(redact(made, at(0))[1])
    for mesh in (np.full((468, 3), np.nan, np.float32), narrow_mesh() * 1e9, narrow_mesh() - 500):
        slot = checkered()
        (face,) = slot.frame().attach((FACE,), {"mesh": [mesh.astype(np.float32)]})
        _, slot = redact(made, at(0, faces=(face,)), slot)
        np.testing.assert_array_equal(touched(slot), ellipse)


@pytest.mark.parametrize(("rotation", "side"), [(0, "top"), (180, "bottom"), (90, "right")])
def test_a_head_is_covered_up_to_its_hair_wherever_the_picture_has_its_top(
    rotation: int, side: str
) -> None:
    """The face has no points, so the picture's own turn tells where heads point."""
    token = at(0, faces=(Face((90, 70, 110, 90), 0.9),))
    face = touched(redact(stage(job(rotation=rotation)), token)[1])
    head = touched(redact(stage(job(rotation=rotation), region="head"), token)[1])
    assert not (face & ~head).any()
    grown = {
        "top": np.nonzero(face)[0].min() - np.nonzero(head)[0].min(),
        "bottom": np.nonzero(head)[0].max() - np.nonzero(face)[0].max(),
        "right": np.nonzero(head)[1].max() - np.nonzero(face)[1].max(),
    }
    assert max(grown, key=grown.__getitem__) == side


def picture_in(folder: Path, *, hole: bool = False) -> str:
    """A green picture, perhaps with a transparent middle."""
    picture = np.zeros((60, 60, 4), np.uint8)
    picture[:] = (0, 255, 0, 255)
    if hole:
        picture[20:40, 20:40, 3] = 0
    path = folder / "mask.png"
    path.write_bytes(cv2.imencode(".png", picture)[1].tobytes())
    return str(path)


def test_a_picture_takes_the_faces_place(tmp_path: Path) -> None:
    _, slot = redact(stage(method="image", image=picture_in(tmp_path)), at(0))
    patch, _ = slot.frame().bgr((60, 24, 140, 136))
    np.testing.assert_allclose(patch, np.full_like(patch, (0, 255, 0)), atol=3)


def test_what_shows_through_a_picture_is_hidden_all_the_same(tmp_path: Path) -> None:
    made = stage(method="image", image=picture_in(tmp_path, hole=True))
    _, slot = redact(made, at(0))
    hole = slot.frame().planes[0][70:90, 90:110].astype(int)
    assert np.ptp(hole) < 30  # the checkers had 160
    assert abs(hole.mean() - 120) < 15


@pytest.mark.parametrize("name", ["nv12", "yuv420p10le", "gray", "yuv444p"])
def test_a_picture_is_put_into_every_format_and_cut_at_the_edges(tmp_path: Path, name: str) -> None:
    slot = MemorySlot.of(name, 97, 75)
    made = stage(method="image", image=picture_in(tmp_path))
    token = at(0, faces=(Face((-20, -20, 20, 30), 0.9), Face((80, 50, 130, 100), 0.9)))
    original = slot.bytes.copy()
    redact(made, token, slot)
    np.testing.assert_array_equal(slot.restored(), original)
    patch, _ = slot.frame().bgr((0, 0, 20, 20))
    green = (150, 150, 150) if name == "gray" else (0, 255, 0)
    assert np.abs(patch.astype(int) - green).max() <= (40 if name == "gray" else 6)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "image"}, "image=PICTURE"),
        ({"image": "mask.png"}, "method=image"),
        ({"spans": "5-3"}, "ends before it begins"),
        ({"spans": "now"}, "no span"),
    ],
)
def test_choices_that_do_not_fit_are_refused_with_a_cure(
    options: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        resolve(flags=[(f"redact.{key}", value, "test") for key, value in options.items()])
    assert caught.value.cure


def test_a_picture_that_is_not_there_is_named_before_any_frame(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.png"):
        stage(method="image", image=str(tmp_path / "nothing.png"))
