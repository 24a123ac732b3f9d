"""The decode stage: pictures into slots, a summary at the end."""

from __future__ import annotations

from pathlib import Path

import clips
import numpy as np
import pytest
from clips import Clip

from mpflow.errors import InputError


@pytest.mark.parametrize(
    ("pixel_format", "size"),
    [
        ("yuv420p", (64, 48)),
        ("yuv420p", (65, 49)),
        ("yuv422p", (66, 50)),
        ("yuv444p", (65, 49)),
        ("yuv420p10le", (66, 50)),
        ("gray", (65, 49)),
    ],
)
def test_a_slot_holds_exactly_what_was_decoded(
    tmp_path: Path, pixel_format: str, size: tuple[int, int]
) -> None:
    clip = Clip(pts=range(5), pixel_format=pixel_format, size=size, codec="ffv1")
    path = clips.make(tmp_path / "a.mkv", clip)
    pictures, stage, _job, _warnings = clips.decoded(path)
    layout = clips.PictureLayout.of(pixel_format, *size)
    for picture, truth in zip(pictures, clips.planes(path), strict=True):
        frame = clips.Frame(layout, clips.Memory(layout.nbytes), clips.Colour())
        picture.fill(frame)
        assert all(map(np.array_equal, frame.planes, truth))
    assert stage.end().frames == 5


def test_pictures_tell_time_duration_and_key_frames(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mp4", Clip(pts=range(7, 27), options={"g": "10"}))
    pictures, stage, job, _warnings = clips.decoded(path)
    found = [(p.pts, p.duration, p.key) for p in pictures]
    step = job.media.video.time_base[1] // 30
    assert [pts for pts, _, _ in found] == [n * step for n in range(7, 27)]
    assert {duration for _, duration, _ in found} == {step}
    assert [key for _, _, key in found] == [n % 10 == 0 for n in range(20)]
    assert stage.end().expected == 20


def test_a_run_stopped_early_says_what_it_gave(tmp_path: Path) -> None:
    pictures, stage, _job, _warnings = clips.decoded(clips.make(tmp_path / "a.mp4"))
    next(pictures)
    next(pictures)
    assert stage.end().frames == 2


def test_a_file_that_changed_since_it_was_probed_is_refused(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mp4")
    _pictures, stage, job, _warnings = clips.decoded(path)
    stage.end()
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(InputError, match="changed"):
        stage.begin(job)


def test_conversion_to_the_rings_format_is_said_once(tmp_path: Path) -> None:
    path = clips.make(tmp_path / "a.mkv", Clip(pts=range(5), codec="ffv1", pixel_format="yuv440p"))
    pictures, stage, _job, warnings = clips.decoded(path)
    assert len(list(pictures)) == 5
    assert len(warnings) == 1
    assert "yuv440p to yuv420p" in warnings[0]
    assert stage.end().warnings == tuple(warnings)
