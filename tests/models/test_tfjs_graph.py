"""A TensorFlow.js network as ONNX: a tiny one against arithmetic, and the one of the store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from mpflow.errors import ModelError
from mpflow.models.sessions import open_session
from mpflow.models.store import ModelStore
from mpflow.models.tfjs_graph import onnx_from_tfjs
from mpflow.models.transform import transform

_WEIGHTS = {
    "conv/kernel": np.arange(9 * 3 * 2, dtype="<f4").reshape(3, 3, 3, 2) / 10 - 2,
    "conv/bias": np.array([0.5, -40], "<f4"),
}


def layer(kind: str, name: str, *inputs: str, **config: Any) -> dict[str, Any]:
    nodes = [[[each, 0, 0, {}] for each in inputs]] if inputs else []
    return {"class_name": kind, "config": {"name": name, **config}, "inbound_nodes": nodes}


def document() -> dict[str, Any]:
    """in -> conv -> relu; relu beside in -> each pixel twice in both directions."""
    conv = {"padding": "same", "strides": [1, 1], "activation": "linear", "use_bias": True}
    layers = [
        layer("InputLayer", "in", batch_input_shape=[None, None, None, 3]),
        layer("Conv2D", "conv", "in", **conv),
        layer("Activation", "relu", "conv", activation="relu"),
        layer("Concatenate", "both", "relu", "in", axis=3),
        layer("Add", "twice", "both", "both"),
        layer("UpSampling2D", "out", "twice", size=[2, 2], interpolation="nearest"),
    ]
    weights = [
        {"name": name, "shape": list(values.shape), "dtype": "float32"}
        for name, values in _WEIGHTS.items()
    ]
    config = {"layers": layers, "input_layers": [["in", 0, 0]], "output_layers": [["out", 0, 0]]}
    return {
        "format": "layers-model",
        "modelTopology": {"model_config": {"config": config}},
        "weightsManifest": [{"paths": ["weights.bin"], "weights": weights}],
    }


@pytest.fixture
def written(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Write a network of TensorFlow.js's kind and its weights; the path of its model.json."""

    def write(network: dict[str, Any]) -> Path:
        data = b"".join(values.tobytes() for values in _WEIGHTS.values())
        (tmp_path / "weights.bin").write_bytes(data)
        (tmp_path / "model.json").write_text(json.dumps(network))
        return tmp_path / "model.json"

    return write


def reckoned(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the tiny network gives for a picture [h, w, 3], by sums of its own."""
    height, width, _ = picture.shape
    padded = np.pad(picture, ((1, 1), (1, 1), (0, 0)))
    made = np.zeros((height, width, 2), np.float32) + _WEIGHTS["conv/bias"]
    for y in range(3):
        for x in range(3):
            made += padded[y : y + height, x : x + width] @ _WEIGHTS["conv/kernel"][y, x]
    both = np.concatenate([made.clip(0), picture], axis=2)
    return 2 * both.repeat(2, axis=0).repeat(2, axis=1)


def test_each_layer_does_what_keras_says_of_it(
    written: Callable[[dict[str, Any]], Path], tmp_path: Path
) -> None:
    transform("tfjs", written(document()), tmp_path / "net.onnx")
    session, _ = open_session(tmp_path / "net.onnx", device="cpu")
    pictures = np.random.default_rng(3).random((2, 5, 7, 3), np.float32) * 9
    (found,) = session.run(["out"], {"in": pictures.transpose(0, 3, 1, 2)})
    assert found.shape == (2, 5, 10, 14)
    for number in range(2):
        wanted = reckoned(pictures[number])
        np.testing.assert_allclose(found[number].transpose(1, 2, 0), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("number", "change", "named"),
    [
        (1, {"strides": [2, 2]}, "conv has strides"),
        (1, {"activation": "relu"}, "conv has activation"),
        (1, {"padding": "causal"}, "causal"),
        (2, {"activation": "swish"}, "relu has activation 'swish'"),
        (3, {"axis": 1}, "both joins other things"),
        (5, {"interpolation": "bilinear"}, "out has interpolation"),
    ],
)
def test_a_layer_that_is_set_otherwise_is_refused(
    written: Callable[[dict[str, Any]], Path], number: int, change: dict[str, Any], named: str
) -> None:
    network = document()
    network["modelTopology"]["model_config"]["config"]["layers"][number]["config"].update(change)
    with pytest.raises(ModelError, match=named):
        onnx_from_tfjs(written(network))


def test_a_layer_that_is_not_known_is_named(written: Callable[[dict[str, Any]], Path]) -> None:
    network = document()
    layers = network["modelTopology"]["model_config"]["config"]["layers"]
    layers[2]["class_name"] = "PixelShuffle"
    with pytest.raises(ModelError, match="Keras layer PixelShuffle cannot be converted"):
        onnx_from_tfjs(written(network))
    layers[2] = layer("Activation", "relu", "conv", activation="relu")
    layers[2]["inbound_nodes"] *= 2
    with pytest.raises(ModelError, match="relu is used more than once"):
        onnx_from_tfjs(written(network))


def test_weights_that_are_not_all_there_are_refused(
    written: Callable[[dict[str, Any]], Path], tmp_path: Path
) -> None:
    network = document()
    source = written(network)
    (tmp_path / "weights.bin").write_bytes(b"\0" * 300)
    with pytest.raises(ModelError, match="holds 300 bytes, not 224"):
        onnx_from_tfjs(source)
    network["weightsManifest"][0]["weights"][0]["quantization"] = {"scale": 1}
    with pytest.raises(ModelError, match="conv/kernel are not plain float32"):
        onnx_from_tfjs(written(network))


def test_a_file_that_is_no_layers_model_is_a_model_error(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"format": "graph-model"}')
    with pytest.raises(ModelError, match="graph-model is not known"):
        transform("tfjs", tmp_path / "model.json", tmp_path / "net.onnx")


@pytest.mark.parametrize("scale", [2, 4])
def test_the_network_of_the_store_enlarges_nearly_as_well_as_bicubic(
    model_store: ModelStore, picture: Callable[[str], NDArray[np.uint8]], scale: int
) -> None:
    """It takes and gives RGB 0..255, as its package says of this architecture, and is no gain."""
    large = picture("astronaut")[:256, 100:356]
    side = 256 // scale
    small = cv2.resize(large, (side, side), interpolation=cv2.INTER_AREA)
    session, _ = open_session(model_store.path(f"esrgan-slim-x{scale}"), device="cpu")
    tensor = small[None, ..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)
    (found,) = session.run(None, {"LR": tensor})
    made = found[0, ::-1].transpose(1, 2, 0).round().clip(0, 255).astype(np.uint8)
    bicubic = cv2.resize(small, (256, 256), interpolation=cv2.INTER_CUBIC)
    gain = cv2.PSNR(made, large) - cv2.PSNR(bicubic, large)
    assert -1.5 < gain < 0.3, gain
