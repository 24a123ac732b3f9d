"""Descriptions that are wrong, and files that do not fit theirs: named, with the key to correct."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tinydetectors
import yaml
from onnx import TensorProto
from tinynets import Net, Trained

from mpflow.errors import ConfigError, ModelError, MpflowError
from mpflow.models.described import MAKES, load
from mpflow.models.described_landmarks import KINDS, load_landmarks
from mpflow.models.description import is_description
from mpflow.models.detections import Detector
from mpflow.models.detectors import detector, detector_file
from mpflow.models.opened import OpenedDetector
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.stages.detect import DetectOptions
from mpflow.swapping.description import load_swapper
from mpflow.swapping.enhancers import load_enhancer
from mpflow.swapping.maskfile import load_masking

SCRFD = Trained("rgb", (127.5,) * 3, (128.0,) * 3)

KINDS_OF_SCRFD = (("scores", "score"), ("boxes", "bbox"), ("points", "kps"))


def write(folder: Path, **keys: Any) -> str:
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump({"decoder": "scrfd", "file": "net.onnx", **keys}))
    return str(path)


def save(folder: Path, build: Callable[..., None] = tinydetectors.scrfd, **net: Any) -> Path:
    made = Net(SCRFD, **net)
    build(made, 8)
    return made.save(folder / "net.onnx")


def opened(model: str) -> Detector:
    file = detector_file(model, lambda name: pytest.fail(f"{name} is in no store"))
    return detector(model, open_session(file, device="cpu")[0], file=file)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"decoder": "yolov9"}, "'yolov9' is none.*known: yunet, centerface"),
        ({"decoder": ["scrfd"]}, "is none"),
        ({"anchor": 2}, "unknown key anchor.*did you mean anchors"),
        ({"anchors": 0}, "wrong: anchors"),
        ({"file": 7}, "wrong: file: 7 is not what it takes.*file takes text"),
        ({"score": 1.5}, "wrong: score"),
        (
            {"sha256": "12"},
            "sha256: '12' is not what it takes.*sha256 takes .*64 hexadecimal digits",
        ),
        ({"input": {"color": "rgb"}}, r"unknown key input\.color.*did you mean colour"),
        ({"input": {"colour": "rbg"}}, r"wrong: input\.colour"),
        ({"input": {"mean": [1, 2]}}, r"wrong: input\.mean"),
        ({"input": {"std": [1, 0, 1]}}, "std must not be 0"),
        ({"input": {"size": "640"}}, "size must be WIDTHxHEIGHT"),
        ({"input": {"letterbox": {"at": "left"}}}, r"wrong: input\.letterbox\.at"),
        ({"input": "rgb"}, "wrong: input"),
        ({"outputs": {"scores": 3}}, "wrong: outputs"),
        ({"decoder": "retinaface", "anchors": [[16, 32]]}, "one list for each of the strides"),
        ({"decoder": "yolov5-face", "anchors": [[1], [2, 3], [4, 5]]}, "pairs of numbers"),
        ({"decoder": "centerface", "strides": [8]}, "strides of a centerface file"),
    ],
)
def test_a_wrong_key_is_named(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        load(Path(write(tmp_path, **keys)))
    assert "mine.yaml" in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "decoder: [", "just words", "\xff\xfe"])
def test_a_file_that_is_no_description_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"mine\.yaml"):
        load(path)


def test_a_description_without_a_decoder_or_a_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("file: net.onnx\n")
    with pytest.raises(ConfigError, match=r"it has no decoder.*known: "):
        load(path)
    path.write_text("decoder: scrfd\n")
    with pytest.raises(ConfigError, match="file"):
        load(path)
    with pytest.raises(ConfigError, match="there is no model description"):
        load(tmp_path / "other.yaml")


def test_a_file_that_is_not_there_or_another_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"net\.onnx, which is not there.*correct `file`"):
        opened(write(tmp_path))
    file = save(tmp_path)
    right = hashlib.sha256(file.read_bytes()).hexdigest()
    assert opened(write(tmp_path, sha256=right)).score == 0.5
    with pytest.raises(ModelError, match=f"wrong hash.*{right}"):
        opened(write(tmp_path, sha256="0" * 64))


def test_a_file_is_found_from_the_descriptions_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path)
    write(tmp_path)
    monkeypatch.chdir(tmp_path.parent)
    assert opened(f"{tmp_path.name}/mine.yaml").size is None


def two_inputs(net: Net, alive: int) -> None:
    tinydetectors.scrfd(net, alive)
    net.more_inputs.append("scale")


@pytest.mark.parametrize(
    ("net", "keys", "said"),
    [
        ({"build": two_inputs}, {}, r"several inputs; it has: picture, scale.*input\.name"),
        ({}, {"input": {"name": "data"}}, r"no input 'data'; it has: picture.*input\.name"),
        ({"batch": 4}, {}, "takes 4 pictures at a time"),
        ({"channels": 1}, {}, r"not \[n, 3, height, width\]"),
        ({"sides": (64, 64)}, {"input": {"size": "96x64"}}, r"is 64x64, described as 96x64"),
        ({}, {"strides": [8, 16]}, "nothing is known of its outputs score_32, bbox_32, kps_32"),
        ({}, {"anchors": 3}, r"96x64.*scores \[288, 1\].*it gives .*score_32 \[2, 12, 1\]"),
        ({}, {"strides": [8, 16, 32, 64]}, "correct decoder, strides, anchors"),
        ({}, {"anchors": 1}, r"scores \[96, 1\] .*score_8 \[2, 192, 1\]"),
        ({}, {"decoder": "retinaface"}, r"boxes \[252, 4\], scores \[252, 2\]"),
        ({}, {"decoder": "yunet"}, r"cls \[96, 1\]"),
        ({"build": lambda net, alive: tinydetectors.scrfd(net, alive, points=False)}, {}, "points"),
        ({}, {"outputs": {"points": "kps"}}, r"no output 'kps'.*correct outputs\.points"),
        (
            {},
            {"outputs": {"points": ["bbox_8", "bbox_16", "bbox_32"]}},
            r"points is said to be bbox_8, bbox_16, bbox_32",
        ),
        ({}, {"outputs": {"points": "kps_8"}}, "points is said to be kps_8"),
        ({}, {"outputs": {"point": "kps_8"}}, r"outputs\.point is none.*boxes, points, scores"),
    ],
)
def test_a_file_that_does_not_fit_its_description_is_refused_and_both_are_named(
    tmp_path: Path, net: dict[str, Any], keys: dict[str, Any], said: str
) -> None:
    save(tmp_path, **net)
    with pytest.raises(ModelError, match=said) as caught:
        opened(write(tmp_path, **keys))
    assert "net.onnx does not fit its description" in str(caught.value)
    assert "mine.yaml" in str(caught.value)


def test_half_floats_are_refused(tmp_path: Path) -> None:
    net = Net(SCRFD)
    single = net.node("Cast", ["picture"], to=TensorProto.FLOAT)
    net.output(single, "out")
    net.save(tmp_path / "net.onnx", TensorProto.FLOAT16)
    with pytest.raises(ModelError, match=r"tensor\(float16\).*not float32"):
        opened(write(tmp_path))


def test_a_file_that_does_not_run_at_its_size_is_refused(tmp_path: Path) -> None:
    """A sum of grids that fit each other only in a picture of 64x64."""

    def build(net: Net, alive: int) -> None:
        tinydetectors.scrfd(net, alive)
        grid = net.constant([[0.0] * 8] * 8)
        net.output(net.node("Add", [net.cells(8, [1.0]), net.node("Cast", [grid], to=1)]), "more")

    save(tmp_path, build)
    named = {
        role: [f"{kind}_{stride}" for stride in tinydetectors.STRIDES]
        for role, kind in KINDS_OF_SCRFD
    }
    with pytest.raises(ModelError, match=r"does not run on a picture of 96x64.*input\.size"):
        opened(write(tmp_path, outputs=named))
    fixed = write(tmp_path, outputs=named, input={"size": "64x64"})
    assert opened(fixed).size == (64, 64)


def test_a_file_that_is_no_network_is_named(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"not a network")
    with pytest.raises(ModelError, match=r"net\.onnx"):
        opened(write(tmp_path))


@pytest.mark.parametrize(
    ("keys", "options", "said"),
    [
        ({"input": {"size": "96x64"}}, {"size": "128x64"}, "96x64 only, not of 128x64.*size=auto"),
        ({"input": {"multiple": 64}}, {"size": "96x64"}, "multiples of 64, unlike 96x64"),
        ({"anchors": 1}, {}, "does not fit its description"),
    ],
)
def test_options_that_do_not_fit_a_model_are_refused_when_it_is_opened(
    tmp_path: Path, keys: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    save(tmp_path)
    choice = DetectOptions(model=write(tmp_path, **keys), device="cpu", **options)
    with pytest.raises(MpflowError, match=said):
        OpenedDetector(choice, ModelStore(tmp_path), threads=1, warn=print, told=print)


def test_a_size_of_its_own_and_its_multiples_are_kept_to(tmp_path: Path) -> None:
    save(tmp_path)
    for keys, size in (
        ({"size": "96x64"}, (96, 64)),
        ({"multiple": 128}, (640, 384)),
        ({}, (640, 384)),
    ):
        choice = DetectOptions(model=write(tmp_path, input=keys), device="cpu")
        made = OpenedDetector(choice, ModelStore(tmp_path), threads=1, warn=print, told=print)
        assert made.size(1920, 1080) == size
        assert made.sure == 0.5


def test_names_that_end_in_yaml_are_descriptions() -> None:
    assert is_description("mine.yaml")
    assert is_description("../a b/mine.yml")
    assert not is_description("yunet")
    assert set(MAKES) == {
        "yunet",
        "centerface",
        "retinaface",
        "scrfd",
        "yolov5-face",
        "yolov8-face",
    }


def test_every_example_in_the_documentation_reads(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/models.md").read_text("utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "example.yaml"
    readers: dict[str, Callable[[Path], object]] = {
        "decoder": load,
        "landmarks": load_landmarks,
        "swapper": load_swapper,
        "enhancer": load_enhancer,
        "mask": load_masking,
    }
    told = set()
    for example in examples:
        path.write_text(example)
        (key,) = {*yaml.safe_load(example)} & {*readers}
        readers[key](path)
        told.add(yaml.safe_load(example)[key])
    assert told >= {*MAKES, *KINDS, "codeformer", "super-resolution", "simswap", "uniface", "other"}
    assert told >= {"occluder", "parser"}


def test_outputs_may_be_left_over_where_every_role_is_named(tmp_path: Path) -> None:
    save(tmp_path)
    outputs = {role: [f"{kind}_8", f"{kind}_16"] for role, kind in KINDS_OF_SCRFD}
    assert opened(write(tmp_path, strides=[8, 16], outputs=outputs)).score == 0.5
