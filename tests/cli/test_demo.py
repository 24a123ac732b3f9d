"""The demo, and the contact sheet it draws."""

from __future__ import annotations

from pathlib import Path

import av
import cv2
import numpy as np
import pytest
from clips import Clip, make
from commands import Command

from mpflow.errors import InputError
from mpflow.jobs.demo_clip import HEIGHT, RATE, WIDTH, make_demo_clip
from mpflow.media.contact_sheet import GAP, HEADING, contact_sheet
from mpflow.models.store import ModelStore


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


@pytest.mark.slow
def test_demo_clip_has_sound_and_faces(tmp_path: Path, model_store: ModelStore) -> None:
    photos = model_store.pull(["group-photo", "astronaut"])
    clip = tmp_path / "clip.mp4"
    make_demo_clip(photos["group-photo"], photos["astronaut"], clip)
    with av.open(str(clip)) as container:
        (picture,), (sound,) = container.streams.video, container.streams.audio
        assert (picture.width, picture.height, picture.average_rate) == (WIDTH, HEIGHT, RATE)
        assert picture.frames == 6 * RATE
        assert sound.codec_context.name == "aac"


def test_demo_on_a_file_of_ones_own_makes_a_video_and_a_sheet(
    mpflow: Command, here: Path, model_store: ModelStore
) -> None:
    ran = mpflow("demo", model_store.path("carphone"), "-o", "demo")
    assert ran.code == 0, ran.err
    made = sorted(path.name for path in (here / "demo").iterdir())
    assert [name.partition(".")[2] for name in made] == ["before-after.png", "redacted.mp4"]
    for name in made:
        assert f"demo/{name}" in ran.out
