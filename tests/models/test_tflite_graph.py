"""A TFLite network as ONNX, against OpenCV's own reading of the same file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
import tflite

from mpflow.errors import ModelError
from mpflow.models import tflite_graph
from mpflow.models.fetch import Archives, fetch, sha256_of
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.models.tflite_graph import onnx_from_tflite
from mpflow.models.transform import transform


@pytest.fixture(scope="module")
def source(model_store: ModelStore) -> Iterator[Path]:
    """The mesh's file as its package has it."""
    entry = model_store.manifest.entry("facemesh")
    with tempfile.TemporaryDirectory() as folder, Archives() as archives:
        target = Path(folder) / "mesh.tflite"
        fetch(entry.sources[0], target, start=Path.cwd(), archives=archives)
        assert sha256_of(target) == entry.sha256
        yield target


def test_the_converted_network_gives_what_opencv_gives(
    model_store: ModelStore, source: Path
) -> None:
    portrait = cv2.imread(str(model_store.path("astronaut")))
    crops = np.stack([cv2.resize(portrait[20:220, 124:324], (192, 192)), portrait[300:492, :192]])
    rgb = crops[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)
    session, _ = open_session(model_store.path("facemesh"), device="cpu")
    points, scores = session.run(None, {"input_1": rgb})
    network = cv2.dnn.readNetFromTFLite(str(source))
    for number in (0, 1):
        network.setInput(rgb[number : number + 1])
        wanted = [network.forward(name).reshape(-1) for name in ("conv2d_20", "conv2d_30")]
        np.testing.assert_allclose(points[number], wanted[0], atol=1e-3)
        np.testing.assert_allclose(scores[number], wanted[1], atol=1e-3)
    assert scores[0, 0] > 5
    assert scores[1, 0] < 0


def test_converting_twice_gives_the_same_bytes(
    model_store: ModelStore, source: Path, tmp_path: Path
) -> None:
    transform("tflite", source, tmp_path / "again.onnx")
    assert sha256_of(tmp_path / "again.onnx") == sha256_of(model_store.path("facemesh"))


def test_the_result_takes_any_batch_and_names_its_ends(model_store: ModelStore) -> None:
    graph = onnx.load(model_store.path("facemesh")).graph
    ends = {
        value.name: [side.dim_param or side.dim_value for side in value.type.tensor_type.shape.dim]
        for value in [*graph.input, *graph.output]
    }
    assert ends == {
        "input_1": ["n", 3, 192, 192],
        "conv2d_20": ["n", 1404],
        "conv2d_30": ["n", 1],
    }


def test_an_operator_that_is_not_known_is_named(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(tflite_graph._OPERATORS, "PRELU")
    with pytest.raises(ModelError, match="PRELU cannot be converted"):
        onnx_from_tflite(source)


def test_an_activation_inside_an_operator_is_refused(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    relu = tflite.ActivationFunctionType.RELU
    monkeypatch.setattr(tflite.Conv2DOptions, "FusedActivationFunction", lambda _: relu)
    with pytest.raises(ModelError, match="an activation inside an operator"):
        onnx_from_tflite(source)


def test_a_file_that_is_no_tflite_network_is_a_model_error(tmp_path: Path) -> None:
    text = tmp_path / "text.tflite"
    text.write_text("no network")
    with pytest.raises(ModelError, match=r"tflite cannot be applied to text\.tflite"):
        transform("tflite", text, tmp_path / "result.onnx")
