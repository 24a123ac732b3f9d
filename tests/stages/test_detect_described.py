"""Models of one's own by description: in the detect stage, and in whole runs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import scenes
import tinydetectors
import yaml
from clips import make
from commands import LIMIT_S, command_line
from tinydetectors import BOX, POINTS
from tinynets import Net, Trained

from mpflow.errors import ConfigError
from mpflow.memory import MemorySlot
from mpflow.spec import JobSpec, MediaInfo, VideoInfo
from mpflow.stage import Job, StageContext, Work
from mpflow.stages.detect import Detect, DetectOptions
from mpflow.tokens import Token

SIZE = (192, 128)
YOLO = Trained("rgb", std=(255.0,) * 3)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """YOLOv5-face for one size, finished; its faces are the red cells of stride 16."""
    net = Net(YOLO, SIZE, 1)
    tinydetectors.yolov5_finished(net, 16)
    net.save(tmp_path / "tiny.onnx")
    path = tmp_path / "tiny.yaml"
    path.write_text(yaml.safe_dump({"decoder": "yolov5-face", "file": "tiny.onnx"}))
    return path


def detect(model: Path, **options: Any) -> Detect:
    made = Detect(DetectOptions(model=str(model), device="cpu", **options), StageContext("detect"))
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


def red_square(width: int, height: int, x: int, y: int, side: int) -> scenes.Picture:
    picture = np.full((height, width, 3), 90, np.uint8)
    picture[y : y + side, x : x + side] = (0, 0, 255)
    return picture


def test_faces_of_a_picture_in_the_middle_of_the_blob_come_back_to_its_pixels(model: Path) -> None:
    """384x192 is halved to 192x96 and stands 16 pixels down in 192x128."""
    slot = scenes.slot(red_square(384, 192, 64, 96, 32), "yuv444p")
    stage = detect(model, max_batch=3)
    stage.begin(job(slot))
    tokens = list(stage.process([Work(Token("run", n), slot.frame()) for n in range(3)]))
    for token in tokens:
        (face,) = token.faces
        np.testing.assert_allclose(face.box, BOX * 2 + (64, 96, 64, 96), atol=0.1)
        np.testing.assert_allclose(face.points, POINTS * 2 + (64, 96), atol=0.1)
        assert face.score == pytest.approx(0.9, abs=0.02)


def test_a_turned_picture_is_upright_in_the_middle_of_the_blob(model: Path) -> None:
    """Stored 192x384 with a quarter turn."""
    upright = red_square(384, 192, 64, 96, 32)
    slot = scenes.slot(np.ascontiguousarray(np.rot90(upright, -1)), "yuv444p")
    stage = detect(model)
    stage.begin(job(slot, rotation=90))
    (token,) = stage.process([Work(Token("run", 0), slot.frame())])
    (face,) = token.faces
    x1, y1, x2, y2 = BOX * 2 + (64, 96, 64, 96)
    np.testing.assert_allclose(face.box, (191 - y2, x1, 191 - y1, x2), atol=0.1)


def test_the_descriptions_score_holds_unless_the_options_say_another(model: Path) -> None:
    slot = scenes.slot(red_square(384, 192, 64, 96, 32), "yuv444p")
    for options, faces in (({}, 1), ({"score": 0.95}, 0), ({"score": 0.3}, 1)):
        stage = detect(model, **options)
        stage.begin(job(slot))
        (token,) = stage.process([Work(Token("run", 0), slot.frame())])
        assert len(token.faces) == faces


def test_a_size_that_the_model_does_not_take_is_refused_when_it_is_opened_or_tuned(
    model: Path,
) -> None:
    with pytest.raises(ConfigError, match="192x128 only, not of 640x384"):
        detect(model, size="640x384")
    stage = detect(model)
    with pytest.raises(ConfigError, match="192x128 only"):
        stage.tune(DetectOptions(model=str(model), device="cpu", size="640x384"))
    assert stage.options.size == "auto"


def run(folder: Path, *words: str | Path, command: str = "run") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command_line(command, *words, "--offline", "--set", "detect.device=cpu"),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def red_clip(path: Path) -> Path:
    """Three frames with a red square in them, coded without loss."""
    picture = red_square(384, 192, 64, 96, 32)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 384, 192, "yuv444p"
        for _ in range(3):
            frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_a_whole_run_uses_a_described_model_by_a_path_from_where_it_is_started(
    model: Path, tmp_path: Path
) -> None:
    """Offline, and from an empty folder: nothing of the store is needed."""
    red_clip(tmp_path / "in.mkv")
    words = ("-i", "in.mkv", "-o", "out.jsonl", "--preset", "detect-only")
    done = run(tmp_path, *words, "--set", f"detect.model={model.name}")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    boxes = [face["box"] for row in rows for face in row.get("faces", [])]
    assert len(boxes) == 3
    np.testing.assert_allclose(boxes, [BOX * 2 + (64, 96, 64, 96)] * 3, atol=0.5)


def test_a_wrong_description_ends_a_run_before_any_frame(model: Path, tmp_path: Path) -> None:
    make(tmp_path / "in.mp4")
    model.write_text(yaml.safe_dump({"decoder": "scrfd", "file": "tiny.onnx"}))
    done = run(tmp_path, "-i", "in.mp4", "-o", "out.mp4", "--set", f"detect.model={model.name}")
    assert done.returncode == 2
    assert "tiny.onnx does not fit its description tiny.yaml" in done.stderr
    assert not list(tmp_path.glob("out*"))


def test_a_plan_finds_a_description_from_any_folder(model: Path, tmp_path: Path) -> None:
    make(tmp_path / "in.mp4")
    words = ("-i", "in.mp4", "-o", "out.mp4", "--set", f"detect.model={model.name}")
    done = run(tmp_path, *words, command="plan")
    assert done.returncode == 0, done.stderr
    plan = next(tmp_path.glob("out.mp4.parts/*plan*"))
    assert str(model) in plan.read_text("utf-8")
