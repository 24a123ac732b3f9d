"""The demo, and the contact sheet it draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from click.testing import Result
from clips import Clip, make
from commands import Command

from mpflow.errors import InputError
from mpflow.jobs.demo_clip import HEIGHT, RATE, WIDTH, make_demo_clip
from mpflow.media.contact_sheet import GAP, HEADING, contact_sheet
from mpflow.models.centerface import CenterFace
from mpflow.models.detections import Detector, Floats
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.models.yunet import YuNet

Picture = np.ndarray
BORDER = 40  # pixels


def test_contact_sheet_has_a_row_for_each_moment(tmp_path: Path) -> None:
    before = make(tmp_path / "a.mp4", Clip(size=(320, 192)))
    after = make(tmp_path / "b.mp4", Clip(size=(320, 192)))
    contact_sheet(str(before), str(after), tmp_path / "sheet.png", pairs=3)
    sheet = cv2.imread(str(tmp_path / "sheet.png"))
    assert sheet is not None
    height = (sheet.shape[0] - HEADING) // 3 - GAP
    width = (sheet.shape[1] - 3 * GAP) // 2
    assert width / height == pytest.approx(320 / 192, rel=0.1)
    picture = sheet[HEADING : HEADING + height, 2 * GAP + width : 2 * GAP + 2 * width]
    assert np.std(picture) > 10


@pytest.mark.parametrize("rotation", [90, 180])
def test_contact_sheet_shows_pictures_upright(tmp_path: Path, rotation: int) -> None:
    clip = make(tmp_path / "a.mp4", Clip(size=(320, 192), rotation=rotation))
    contact_sheet(str(clip), str(clip), tmp_path / "sheet.png", pairs=1)
    sheet = cv2.imread(str(tmp_path / "sheet.png"))
    assert sheet is not None
    height = sheet.shape[0] - HEADING - GAP
    width = (sheet.shape[1] - 3 * GAP) // 2
    assert (height > width) == (rotation == 90)


def test_contact_sheet_of_something_else_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_text("no video")
    with pytest.raises(InputError):
        contact_sheet(str(tmp_path / "a.mp4"), str(tmp_path / "a.mp4"), tmp_path / "sheet.png")


def pictures(path: Path) -> Iterator[Picture]:
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            yield frame.to_ndarray(format="bgr24")


def boxes_in(detector: Detector, picture: Picture) -> Floats:
    """What is found in a picture, at the size at which the pipeline looks at it."""
    height, width = picture.shape[:2]
    scale = min(640 / max(height, width), 2)
    sides = (-(-round(side * scale) // 32) * 32 for side in (width, height))
    blob, scale = letterbox(picture, *sides)
    return detector.detect(blob)[0].scaled(1 / scale).boxes


def near(box: Floats, others: Floats) -> bool:
    """Whether a find lies within a face's side of one of the faces."""
    centre, centres = box[:2] + box[2:], others[:, :2] + others[:, 2:]
    return bool((np.abs(centre - centres) < 2 * (others[:, 2:] - others[:, :2])).all(1).any())


@pytest.fixture(scope="module")
def yunet(model_store: ModelStore) -> YuNet:
    return YuNet(open_session(model_store.path("yunet"), device="cpu")[0], score=0.7)


@pytest.fixture(scope="module")
def centerface(model_store: ModelStore) -> CenterFace:
    return CenterFace(open_session(model_store.path("centerface"), device="cpu")[0], score=0.5)


@pytest.fixture(scope="module")
def people(model_store: ModelStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    photos = model_store.pull(["group-photo", "astronaut"])
    clip = tmp_path_factory.mktemp("demo") / "people.mp4"
    make_demo_clip(photos["group-photo"], photos["astronaut"], clip)
    return clip


def test_demo_clip_has_sound_and_lasts_six_seconds(people: Path) -> None:
    with av.open(str(people)) as container:
        (picture,), (sound,) = container.streams.video, container.streams.audio
        assert (picture.width, picture.height, picture.average_rate) == (WIDTH, HEIGHT, RATE)
        assert picture.frames == 6 * RATE
        assert sound.codec_context.name == "aac"


def test_faces_of_the_demo_clip_stay_away_from_the_border(people: Path, yunet: YuNet) -> None:
    counts = set()
    for picture in list(pictures(people))[::6]:
        boxes = boxes_in(yunet, picture)
        counts.add(len(boxes))
        assert boxes[:, :2].min() > BORDER
        assert (boxes[:, 2:] < (WIDTH - BORDER, HEIGHT - BORDER)).all()
    assert counts == {4, 3, 1}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_demo_covers_a_film_and_a_clip_of_several_faces_in_every_frame(
    mpflow: Command, here: Path, model_store: ModelStore, yunet: YuNet, centerface: CenterFace
) -> None:
    ran = mpflow("demo", "-o", "demo")
    assert ran.code == 0, ran.err
    assert "do not pass it on" in ran.out
    sources = {"carphone": model_store.path("carphone"), "people": here / "demo" / "people.mp4"}
    for name, source in sources.items():
        for result in (f"demo/{name}.redacted.mp4", f"demo/{name}.before-after.png"):
            assert result in ran.out
            assert (here / result).stat().st_size > 10_000
        redacted = pictures(here / "demo" / f"{name}.redacted.mp4")
        for before, after in zip(pictures(source), redacted, strict=True):
            faces = boxes_in(yunet, before)
            assert len(faces)
            for detector in (yunet, centerface):
                assert not [box for box in boxes_in(detector, after) if near(box, faces)]


def test_demo_refuses_a_folder_before_it_does_anything(
    invoke: Callable[..., Result], here: Path
) -> None:
    (here / "films").mkdir()
    answer = invoke("demo", "films", "-o", "demo")
    assert answer.exit_code == 3
    assert "'films' is a folder" in answer.stderr
    assert "cure: " in answer.stderr
    assert not (here / "demo").exists()


def test_demo_on_a_file_of_ones_own_makes_a_video_and_a_sheet(
    mpflow: Command, here: Path, model_store: ModelStore
) -> None:
    ran = mpflow("demo", model_store.path("carphone"), "-o", "demo")
    assert ran.code == 0, ran.err
    assert "people" not in ran.out
    made = sorted(path.name for path in (here / "demo").iterdir())
    endings = ["before-after.png", "redacted.mp4", "redacted.mp4.mpflow.json"]
    assert [name.partition(".")[2] for name in made] == endings
    for name in made:
        assert f"demo/{name}" in ran.out
