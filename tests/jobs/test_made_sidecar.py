"""What is told beside a video in which faces were made."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from mpflow.config import resolve
from mpflow.jobs.operations import models_of_stages, operations_of
from mpflow.jobs.sidecar import Counted, has_sidecar, with_sidecar, write_sidecar
from mpflow.models.manifest import Manifest
from mpflow.spec import MADE, REDACTED_IN_PART, JobSpec, PipelineSpec

NAME = "Anneliese"
PRESET = """
stages:
  - stage: decode
  - stage: detect
  - stage: making_stages:Maker
  {redact}
  - stage: making_stages:Marker
  - stage: encode
"""


def making(folder: Path, redact: str = "", **settings: Any) -> PipelineSpec:
    path = folder / "mine.yaml"
    path.write_text(PRESET.format(redact=redact))
    flags = [(key.replace("__", "."), value, "test") for key, value in settings.items()]
    return resolve(str(path), flags=flags, environ={}).spec


def told_of(folder: Path, spec: PipelineSpec) -> dict[str, Any]:
    source, output = folder / f"{NAME}.mp4", folder / "out.mp4"
    source.write_bytes(b"input")
    output.write_bytes(b"the output")
    job = with_sidecar(JobSpec("1", str(source), str(output)))
    write_sidecar(spec, job, Counted(9))
    told = json.loads(Path(job.sidecar).read_text())
    assert isinstance(told, dict)
    return told


def test_it_says_how_faces_were_made_and_whether_others_were_redacted(tmp_path: Path) -> None:
    told = told_of(tmp_path, making(tmp_path))
    assert told["what"] == MADE
    assert told["made"]["how"] == "composite"
    assert told["made"]["digital_source_type"].endswith("/compositeSynthetic")
    both = making(tmp_path, redact="- stage: redact", redact__spans="0:01-0:02")
    assert told_of(tmp_path, both)["what"] == f"{REDACTED_IN_PART}; {MADE}"


def test_every_video_with_made_faces_gets_one(tmp_path: Path) -> None:
    assert has_sidecar(making(tmp_path))
    assert told_of(tmp_path, resolve("redact", environ={}).spec)["made"] is None


def test_photos_of_people_are_counted_and_not_named(tmp_path: Path) -> None:
    photos = [f"/home/{NAME}/1.jpg", f"/home/{NAME}/2.jpg"]
    spec = making(tmp_path, maker__photos=photos)
    (maker,) = [each for each in operations_of(spec) if "Maker" in each["stage"]]
    assert (maker["left_out"], maker["numbers"]) == (["photos"], {"photos": 2})
    assert NAME not in json.dumps(told_of(tmp_path, spec))


def models_of_maker(spec: PipelineSpec) -> dict[str, Any]:
    (told,) = [each for each in models_of_stages(spec) if "Maker" in each["stage"]]
    return {key: value for key, value in told.items() if key != "stage"}


def test_what_needs_no_network_has_a_name_and_no_hash(tmp_path: Path) -> None:
    assert models_of_maker(making(tmp_path)) == {"model": "mesh", "sha256": None}


@pytest.mark.parametrize("nested", [True, False])
def test_every_file_that_a_description_names_has_its_hash(tmp_path: Path, nested: bool) -> None:
    sha256 = {}
    for name in ("net.onnx", "converter.onnx"):
        (tmp_path / name).write_bytes(name.encode())
        sha256[name] = hashlib.sha256(name.encode()).hexdigest()
    described = tmp_path / f"{NAME}.yaml"
    more = "embedding: {model: sface, converter: converter.onnx}\nname: target" if nested else ""
    described.write_text(f"file: net.onnx\n{more}\n")
    told = models_of_maker(making(tmp_path, maker__model=str(described)))
    assert told["sha256"] == sha256["net.onnx"]
    assert told["description_sha256"] == hashlib.sha256(described.read_bytes()).hexdigest()
    sface = {"model": "sface", "sha256": Manifest.shipped().entry("sface").final_sha256}
    also = [sface, {"model": None, "sha256": sha256["converter.onnx"]}]
    assert told.get("also") == (also if nested else None)


def test_masks_are_models_too(tmp_path: Path) -> None:
    (tmp_path / "mask.onnx").write_bytes(b"mask")
    (tmp_path / "mask.yaml").write_text("file: mask.onnx")
    spec = making(tmp_path, maker__masks=[str(tmp_path / "mask.yaml")])
    told = [each for each in models_of_stages(spec) if "Maker" in each["stage"]]
    assert [each["model"] for each in told] == ["mesh", None]
    assert told[1]["sha256"] == hashlib.sha256(b"mask").hexdigest()
