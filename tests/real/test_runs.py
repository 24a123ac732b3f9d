"""Whole runs on real video: every frame comes out with its time, every face is covered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import clips
import cv2
import msgspec
import numpy as np
import people
import pytest
import scenes

import mpflow
from mpflow.config import preset_names, resolve
from mpflow.cover import Outline
from mpflow.graph import Demand, minimum_slots, uncut_slots
from mpflow.importer import AnyStage, build
from mpflow.models import align
from mpflow.models.centerface import CenterFace
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore
from mpflow.models.yunet import YuNet
from mpflow.stage import Sink, Stage, StageContext
from mpflow.stages.redact import RedactOptions

DIFFERENT_PERSON = 0.40
PAN_FRAMES = 12
PAN_SIZE = (1280, 720)


def run(source: Path, output: Path, preset: str = "redact", **options: Any) -> mpflow.Report:
    settings = {key.replace("__", "."): value for key, value in options.items()}
    spec = mpflow.RunSpec(str(source), str(output), preset=preset, set=settings)
    return mpflow.run(spec)


def faces_in(
    source: Path, folder: Path, preset: str = "detect-only", **options: Any
) -> list[list[dict[str, Any]]]:
    """The faces of every frame, as a preset writes them as JSON lines."""
    lines = folder / f"{source.stem}.jsonl"
    run(source, lines, preset, **options)
    return [json.loads(line)["faces"] for line in lines.read_text().splitlines()]


def pictures(path: Path) -> Iterator[scenes.Picture]:
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="bgr24")


@pytest.fixture(scope="module")
def pan(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven faces at 720p; the camera moves over the two photos."""
    table = scenes.scene(model_store)
    path = tmp_path_factory.mktemp("pan") / "pan.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "16"})
        stream.width, stream.height, stream.pix_fmt = *PAN_SIZE, "yuv420p"
        for number in range(PAN_FRAMES):
            shift = np.float32([[1, 0, -number], [0, 1, -number / 2]])
            moved = cv2.warpAffine(table, shift, scenes.FULL_SIZE, borderMode=cv2.BORDER_REPLICATE)
            small = cv2.resize(moved, PAN_SIZE, interpolation=cv2.INTER_AREA)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(small, format="bgr24")))
        container.mux(stream.encode(None))
    return path


def finds(detector: Any, picture: scenes.Picture, face: dict[str, Any]) -> int:
    """Finds whose centre lies within the face's old box."""
    blob, scale = letterbox(picture, 960, 544)
    found = detector.detect(blob)[0].scaled(1 / scale)
    x1, y1, x2, y2 = face["box"]
    centres = (found.boxes[:, :2] + found.boxes[:, 2:]) / 2
    inside = (centres > (x1, y1)) & (centres < (x2, y2))
    return int(inside.all(axis=1).sum())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["blur", "mosaic", "solid"])
def test_seven_moving_faces_are_found_and_after_the_run_are_no_more(
    model_store: ModelStore, pan: Path, tmp_path: Path, method: str
) -> None:
    faces = faces_in(pan, tmp_path)
    assert [len(found) for found in faces] == [scenes.FACES] * PAN_FRAMES
    output = tmp_path / "out.mp4"
    report = run(pan, output, redact__method=method)
    assert report.frames_written == PAN_FRAMES
    yunet, centerface, sface = (
        open_session(model_store.path(name), device="cpu")[0]
        for name in ("yunet", "centerface", "sface")
    )
    # CenterFace gives the astronaut's mosaic up to 0.38, however often and closely was looked
    judges = [YuNet(yunet, score=0.7), CenterFace(centerface, score=0.4)]
    embed = SFace(sface)
    shots = list(zip(pictures(pan), pictures(output), faces, strict=True))
    for _, after, found in shots:
        assert [finds(judge, after, face) for judge in judges for face in found] == [0] * 14
    before, after, found = shots[-1]
    points = [np.array(face["points"], np.float32) for face in found]
    known = embed.embed([align.crop(before, each) for each in points])
    shown = embed.embed([align.crop(after, each) for each in points])
    assert (known * shown).sum(axis=1).max() < DIFFERENT_PERSON


def test_carphone_keeps_every_frame_and_time_and_shows_no_face(
    model_store: ModelStore, tmp_path: Path
) -> None:
    source, output = model_store.path("carphone"), tmp_path / "carphone.mp4"
    faces = faces_in(source, tmp_path)
    assert len(faces) == 120 and all(faces)
    report = run(source, output)
    assert (report.frames_read, report.frames_written, report.frames_expected) == (120, 120, 120)
    assert report.leases_left == 0
    assert clips.times(output) == clips.times(source)
    judge = CenterFace(open_session(model_store.path("centerface"), device="cpu")[0], score=0.5)
    for after, found in zip(pictures(output), faces, strict=True):
        assert [finds(judge, after, face) for face in found] == [0] * len(found)


@pytest.mark.parametrize(("name", "frames"), [("bikes", 250), ("bigbuckbunny", 132)])
def test_other_films_run_through(
    model_store: ModelStore, tmp_path: Path, name: str, frames: int
) -> None:
    source, output = model_store.path(name), tmp_path / f"{name}.mp4"
    report = run(source, output, encode__encoder_preset="ultrafast")
    assert report.complete and report.frames_written == frames
    assert clips.times(output) == clips.times(source)


def covered(faces: list[dict[str, Any]], shape: tuple[int, int]) -> np.ndarray:
    """The pixels that any cover may touch: each face's extent, on whole chroma samples."""
    options = msgspec.convert({}, RedactOptions)
    outline = Outline(options.shape, options.reach, options.feather)
    mask = np.zeros(shape, bool)
    for face in faces:
        x1, y1, x2, y2 = outline.extent(tuple(face["box"]))
        left, top = int(max(x1, 0)) // 2 * 2, int(max(y1, 0)) // 2 * 2
        mask[top : int(y2) // 2 * 2 + 2, left : int(x2) // 2 * 2 + 2] = True
    return mask


@pytest.mark.parametrize(
    ("codec", "suffix", "options"),
    [("ffv1", ".mkv", {}), ("libx264", ".mp4", {"encode.encoder_options.qp": "0"})],
)
def test_a_lossless_encode_differs_from_the_input_only_under_the_masks(
    model_store: ModelStore, tmp_path: Path, codec: str, suffix: str, options: dict[str, str]
) -> None:
    source, output = model_store.path("carphone"), tmp_path / f"lossless{suffix}"
    (detect,) = [each for each in resolve("redact").spec.stages if each.name == "detect"]
    as_redact = {f"detect__{name}": value for name, value in detect.options.items()}
    faces = faces_in(source, tmp_path, "tracks", **as_redact)
    settings = {"encode.codec": codec, **options}
    mpflow.run(mpflow.RunSpec(str(source), str(output), set=settings))
    before, after = clips.planes(source), clips.planes(output)
    assert len(before) == len(after) == 120
    for old, new, found in zip(before, after, faces, strict=True):
        mask = covered(found, old[0].shape)
        assert np.array_equal(old[0][~mask], new[0][~mask])
        assert (old[0] != new[0]).any(), "the face is covered"
        for plane in (1, 2):
            coarse = mask[::2, ::2]
            assert np.array_equal(old[plane][~coarse], new[plane][~coarse])


def demand_of(stage: AnyStage) -> Demand:
    """What the shipped stages hold back is known before they are opened."""
    match stage:
        case Stage():
            return Demand(stage.holds, least_holds=stage.least_holds)
        case Sink():
            return Demand(stage.holds)
        case _:
            return Demand()


@pytest.mark.parametrize("smallest", [uncut_slots, minimum_slots])
@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_runs_at_exactly_its_smallest_ring(
    preset: str,
    smallest: Callable[[Sequence[Demand]], int],
    tmp_path: Path,
    model_store: ModelStore,
) -> None:
    source = clips.make(tmp_path / "clip.mp4")
    settings: dict[str, Any] = {}
    if any(stage.name == "embed" for stage in resolve(preset).spec.stages):
        folder = people.gallery(model_store, tmp_path / "known", {"anna": ["person-a-2"]})
        settings = {"embed__gallery": str(folder)}
    if any(stage.name == "swap" for stage in resolve(preset).spec.stages):
        settings = {"swap__sources": [str(model_store.path("astronaut"))]}
    stages = [build(each, StageContext(each.name)) for each in resolve(preset).spec.stages]
    fills_a_folder = bool(getattr(stages[-1], "within", ""))
    suffix = "" if fills_a_folder else getattr(stages[-1], "suffix", "") or ".mp4"
    demands = [demand_of(each) for each in stages]
    if smallest(demands) == uncut_slots(demands) and smallest is minimum_slots:
        pytest.skip("nothing of it can be cut")
    slots = smallest(demands)
    report = run(source, tmp_path / f"out{suffix}", preset, slots=slots, **settings)
    assert report.slots == slots
    assert report.complete
    cut = [text for text in report.warnings if "frames back instead of" in text]
    assert len(cut) == (slots < uncut_slots(demands))
    if not report.live:
        assert report.frames_written == 30
        return
    # a stream does not wait for a slot: what found none is missed, and the rest adds up
    assert report.ledger is not None
    assert report.ledger.frames + report.missed == 30
    assert report.frames_written > 0


def test_the_smallest_ring_looks_less_far_ahead_and_covers_what_the_largest_does(
    tmp_path: Path, model_store: ModelStore
) -> None:
    source = model_store.path("carphone")
    looks = {"detect__every": "auto", "detect__side": 640, "detect__weak": 0.3}
    largest = faces_in(source, tmp_path, "tracks", **looks)
    lines = tmp_path / "smallest.jsonl"
    report = run(source, lines, "tracks", slots=1, **looks)
    (told,) = [text for text in report.warnings if "frame ring" in text]
    assert "detect keeps 0 frames back instead of 4: it looks at more frames" in told
    assert "track keeps 0 frames back instead of 10: faces that are missed for longer" in told
    tokens = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(tokens) == len(largest) == 120
    assert {face["track"] for token in tokens for face in token["faces"]} == {0}
    for token, faces in zip(tokens, largest, strict=True):
        assert len(token["faces"]) == len(faces) == 1
        assert token["faces"][0].get("sighting") != "carried"


def test_a_variable_rate_keeps_every_time_stamp_through_the_pipeline(tmp_path: Path) -> None:
    pts = [*range(30), *range(30, 90, 2), 100, 101, 150]
    source = clips.make(tmp_path / "vfr.mp4", clips.Clip(pts=pts, time_base=Fraction(1, 30)))
    run(source, tmp_path / "out.mp4")
    assert clips.times(tmp_path / "out.mp4") == [Fraction(each, 30) for each in pts]


def test_several_detectors_keep_the_order(tmp_path: Path, model_store: ModelStore) -> None:
    source = model_store.path("carphone")
    one, four = tmp_path / "one.mkv", tmp_path / "four.mkv"
    run(source, one, encode__codec="ffv1", detect__every=1)
    run(
        source,
        four,
        encode__codec="ffv1",
        detect__every=1,
        detect__workers=4,
        detect__max_batch=2,
        redact__workers=2,
    )
    same = [
        all(np.array_equal(a, b) for a, b in zip(old, new, strict=True))
        for old, new in zip(clips.planes(one), clips.planes(four), strict=True)
    ]
    assert same == [True] * 120


def test_a_stage_from_outside_stands_among_ours(tmp_path: Path) -> None:
    source = clips.make(tmp_path / "clip.mp4")
    preset = tmp_path / "mine.yaml"
    preset.write_text(
        "stages:\n"
        "  - stage: decode\n"
        "  - {stage: 'foreign_stages:Tint', name: tint, options: {add: 7}}\n"
        "  - {stage: encode, options: {codec: ffv1}}\n"
    )
    report = run(source, tmp_path / "out.mkv", str(preset), tint__add=9)
    assert report.complete
    old, new = clips.planes(source)[3][0], clips.planes(tmp_path / "out.mkv")[3][0]
    assert np.array_equal(new[:16, :16], old[:16, :16] + 9)
    assert np.array_equal(new[16:], old[16:])
