"""A landmark network of one's own in the stage."""

from __future__ import annotations

from pathlib import Path

import fits
import numpy as np
import pytest
import tinynets
import yaml

from mpflow.errors import ModelError
from mpflow.stage import StageContext, Work
from mpflow.stages.landmarks import Landmarks, LandmarksOptions
from mpflow.tokens import Face, Token

FACE = Face((100.0, 60.0, 200.0, 200.0), 0.9, ())


def opened(folder: Path, **keys: object) -> Landmarks:
    (folder / "net.yaml").write_text(yaml.safe_dump({"file": "net.onnx", **keys}))
    options = LandmarksOptions(model=str(folder / "net.yaml"), device="cpu")
    made = Landmarks(options, StageContext("landmarks"))
    made.open()
    return made


def test_68_points_are_kept_beside_the_picture_and_give_the_five(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    peaks = np.column_stack([rng.uniform(12, 52, (68, 2)), np.full(68, 0.8)])
    tinynets.points(peaks, 256, "landmarks").save(tmp_path / "net.onnx")
    stage = opened(tmp_path, landmarks=68)
    picture = np.full((240, 320, 3), 90, np.uint8)
    stage.begin(fits.job(picture, 0))
    frame = fits.slot_with_room(picture, stage.side_bytes).frame()
    tokens = [
        *stage.process([Work(Token("run", 0).with_faces((FACE,)), frame)]),
        *stage.flush(),
    ]
    ((face,),) = (token.faces for token in tokens)
    mesh = frame.attached(face, "mesh")
    assert mesh is not None
    scale = 140 / 195  # a box of 195 is 256 pixels of the crop
    expected = (peaks[1:, :2] * 4 - 127.5) * scale + (150, 130)
    np.testing.assert_allclose(mesh[1:, :2], expected, atol=0.05)
    np.testing.assert_allclose(face.points[2], mesh[30, :2], atol=1e-3)
    np.testing.assert_allclose(face.points[0], mesh[36:42, :2].mean(axis=0), atol=1e-3)


def test_a_file_that_gives_other_points_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    tinynets.points(np.ones((98, 2)), 256, "landmarks").save(tmp_path / "net.onnx")
    with pytest.raises(ModelError, match=r"net\.onnx does not fit .*\[68, 3\] or .*\[2, 98, 2\]"):
        opened(tmp_path, landmarks=68)
