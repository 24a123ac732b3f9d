"""A model of one's own, checked without a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import tinydetectors
import tinyenhancers
import tinynets
from click.testing import Result
from tinydetectors import BOX
from tinynets import Net, Trained

Invoke = Callable[..., Result]

RIGHT = "decoder: yolov5-face\nfile: tiny.onnx\n"


@pytest.fixture
def described(here: Path) -> Path:
    """A detector for pictures of 192x128; its faces are the red cells of stride 16."""
    net = Net(Trained("rgb", std=(255.0,) * 3), (192, 128), 1)
    tinydetectors.yolov5_finished(net, 16)
    net.save(here / "tiny.onnx")
    path = here / "tiny.yaml"
    path.write_text(RIGHT)
    return path


def test_a_model_that_fits_is_told_and_looks_at_a_picture(
    described: Path, here: Path, invoke: Invoke
) -> None:
    picture = np.full((192, 384, 3), 90, np.uint8)
    picture[96:128, 64:96] = (0, 0, 255)
    cv2.imwrite(str(here / "red.png"), picture)
    said = invoke("models", "check", described, "--picture", "red.png")
    assert said.exit_code == 0
    assert "face detector, yolov5-face: " in said.output
    assert "192x128 only, one at a time" in said.output
    assert "faces     output" in said.output
    assert "1 face\n  0.90  box 44 76 108 156  points 64 104" in said.output
    told = json.loads(invoke("models", "check", described, "--picture", "red.png", "--json").output)
    np.testing.assert_allclose(told["faces"][0]["box"], BOX * 2 + (64, 96, 64, 96), atol=0.1)
    assert told["size"] == [192, 128]
    assert told["outputs"] == {"faces": ["output"]}


def test_a_landmark_network_is_told_too(here: Path, invoke: Invoke) -> None:
    tinynets.points(np.ones((68, 3)), 256, "landmarks").save(here / "net.onnx")
    (here / "net.yaml").write_text("landmarks: 68\nfile: net.onnx\n")
    said = invoke("models", "check", "net.yaml")
    assert "landmark network, 68 points: " in said.output
    assert "256x256 only, in batches" in said.output


def test_an_enhancer_is_told_too(here: Path, invoke: Invoke) -> None:
    tinyenhancers.weighing(here / "net.onnx")
    (here / "net.yaml").write_text("enhancer: codeformer\nfile: net.onnx\n")
    said = invoke("models", "check", "net.yaml")
    assert "enhancer, codeformer, template ffhq: " in said.output
    assert "64x64 only, one at a time" in said.output
    assert "picture   y" in said.output
    (here / "net.yaml").write_text("enhancer: gfpgan\nfile: gone.onnx\n")
    missing = invoke("models", "check", "net.yaml")
    assert missing.exit_code == 2
    assert "bring gfpgan_1.4.onnx" in missing.stderr


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        ("decoder: scrfd\nfile: tiny.onnx\n", (), (2, "tiny.onnx does not fit its description")),
        ("decoder: scrfd\nfil: tiny.onnx\n", (), (2, "tiny.yaml is wrong: ")),
        (RIGHT, ("--picture", "none.png"), (3, "none.png is no picture")),
        (RIGHT, ("--picture", "tiny.yaml"), (3, "tiny.yaml is no picture")),
    ],
)
def test_what_is_wrong_is_said_with_its_status(
    described: Path, invoke: Invoke, text: str, more: tuple[str, ...], expected: tuple[int, str]
) -> None:
    described.write_text(text)
    said = invoke("models", "check", described, *more)
    status, says = expected
    assert said.exit_code == status
    assert says in str(said.exception or "") + said.output


def test_a_description_that_is_not_there_is_named(here: Path, invoke: Invoke) -> None:
    said = invoke("models", "check", "none.yaml")
    assert "there is no model description none.yaml" in str(said.exception or "") + said.output
