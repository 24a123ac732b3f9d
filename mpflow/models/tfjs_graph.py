"""A TensorFlow.js layers model as an ONNX graph of any batch and size: a chain of plain layers.

    model.json    the layers (Keras's own config) and where each weight lies
    *.bin         the weights, one after the other, little-endian

    pictures [n, h, w, c] -> [n, c, h, w]     weights [h, w, in, out] -> [out, in, h, w]

The format is TensorFlow.js's converter's (``tfjs-layers/src/models.ts`` reads it). What is not
known here (another layer, an activation inside one, a stride, quantised weights) is an error that
names it: a graph that is only nearly right would be worse.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from mpflow.errors import ModelError

Config = Mapping[str, Any]
Weights = Mapping[str, NDArray[np.float32]]

_OPSET, _IR = 13, 8
_CHANNELS = 3  # axis of a Keras picture


def onnx_from_tfjs(source: Path) -> Any:
    """The network in a ``model.json`` whose weight files lie beside it, as an ONNX model.

    NCHW, any batch, height and width; input and output by the names of their layers. Raises
    ModelError for what this converter does not know.
    """
    document = json.loads(source.read_text("utf-8"))
    if document.get("format") != "layers-model":
        raise ModelError(f"a TensorFlow.js {document.get('format')} is not known, only its layers")
    config = document["modelTopology"]["model_config"]["config"]
    return _Conversion(config, _weights(document["weightsManifest"], source.parent)).model()


def _weights(groups: Any, folder: Path) -> Weights:
    """Every weight by its name, out of the files that hold them in this order."""
    found: dict[str, NDArray[np.float32]] = {}
    for group in groups:
        data = b"".join((folder / Path(name).name).read_bytes() for name in group["paths"])
        at = 0
        for each in group["weights"]:
            if each["dtype"] != "float32" or "quantization" in each:
                raise ModelError(f"the weights {each['name']} are not plain float32")
            count = math.prod(each["shape"])
            values = np.frombuffer(data, "<f4", count, at).reshape(each["shape"])
            found[each["name"]] = values
            at += values.nbytes
        if at != len(data):
            raise ModelError(f"{', '.join(group['paths'])} holds {len(data)} bytes, not {at}")
    return found


class _Conversion:
    """One graph on its way: nodes and weights so far."""

    def __init__(self, config: Config, weights: Weights) -> None:
        self._config = config
        self._weights = weights
        self._nodes: list[Any] = []
        self._kept: list[Any] = []
        self._channels: dict[str, int] = {}

    def model(self) -> Any:
        """Every layer in its order, then the ends of the graph."""
        for layer in self._config["layers"]:
            if layer["class_name"] not in _LAYERS:
                raise ModelError(
                    f"the Keras layer {layer['class_name']} cannot be converted",
                    cure=f"known: {', '.join(sorted(_LAYERS))}",
                )
            _LAYERS[layer["class_name"]](self, layer["config"], _inputs(layer))
        ends = {
            key: [self._end(name, key) for name, _, _ in self._config[f"{key}_layers"]]
            for key in ("input", "output")
        }
        graph = onnx.helper.make_graph(
            self._nodes, "graph", ends["input"], ends["output"], self._kept
        )
        made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", _OPSET)])
        made.ir_version = _IR
        made.producer_name = ""
        return made

    def _input(self, config: Config, inputs: list[str]) -> None:
        self._channels[config["name"]] = config["batch_input_shape"][_CHANNELS]

    def _conv(self, config: Config, inputs: list[str]) -> None:
        name = config["name"]
        _refuse(name, config, activation="linear", data_format="channels_last", use_bias=True)
        _refuse(name, config, strides=[1, 1], dilation_rate=[1, 1])
        weights = self._weights[f"{name}/kernel"].transpose(3, 2, 0, 1)
        self._add(
            "Conv",
            [*inputs, self._keep(f"{name}/kernel", weights), self._bias(name)],
            name,
            len(weights),
            kernel_shape=weights.shape[2:],
            pads=_pads(config["padding"], weights.shape[2:]),
        )

    def _activation(self, config: Config, inputs: list[str]) -> None:
        _refuse(config["name"], config, activation="relu")
        self._add("Relu", inputs, config["name"], self._channels[inputs[0]])

    def _concatenate(self, config: Config, inputs: list[str]) -> None:
        if config["axis"] not in (_CHANNELS, -1):
            raise ModelError(f"{config['name']} joins other things than channels")
        channels = sum(self._channels[each] for each in inputs)
        self._add("Concat", inputs, config["name"], channels, axis=1)

    def _sum(self, config: Config, inputs: list[str]) -> None:
        self._add("Add", inputs, config["name"], self._channels[inputs[0]])

    def _enlarge(self, config: Config, inputs: list[str]) -> None:
        name = config["name"]
        _refuse(name, config, interpolation="nearest", data_format="channels_last")
        scales = self._keep(f"{name}/scales", np.array([1, 1, *config["size"]], np.float32))
        self._add(
            "Resize",
            [*inputs, "", scales],
            name,
            self._channels[inputs[0]],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )

    def _bias(self, name: str) -> str:
        return self._keep(f"{name}/bias", self._weights[f"{name}/bias"])

    def _end(self, name: str, kind: str) -> Any:
        sides = ["h", "w"] if kind == "input" else ["h_out", "w_out"]
        shape: list[str | int | None] = ["n", self._channels[name], *sides]
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

    def _keep(self, name: str, values: NDArray[Any]) -> str:
        """Put a constant into the model as little-endian raw bytes; its name."""
        data = np.ascontiguousarray(values, "<f4").tobytes()
        kind = onnx.TensorProto.FLOAT
        self._kept.append(
            onnx.TensorProto(name=name, dims=values.shape, data_type=kind, raw_data=data)
        )
        return name

    def _add(
        self, kind: str, inputs: list[str], output: str, channels: int, **attributes: Any
    ) -> None:
        self._nodes.append(onnx.helper.make_node(kind, inputs, [output], **attributes))
        self._channels[output] = channels


_LAYERS: Mapping[str, Callable[[_Conversion, Config, list[str]], None]] = {
    "InputLayer": _Conversion._input,
    "Conv2D": _Conversion._conv,
    "Activation": _Conversion._activation,
    "Concatenate": _Conversion._concatenate,
    "Add": _Conversion._sum,
    "UpSampling2D": _Conversion._enlarge,
}


def _inputs(layer: Config) -> list[str]:
    """The layers whose output a layer takes; one that is used twice has no one place."""
    nodes = layer["inbound_nodes"]
    if len(nodes) > 1:
        raise ModelError(f"the layer {layer['config']['name']} is used more than once")
    return [str(each[0]) for node in nodes for each in node]


def _pads(padding: str, kernel: tuple[int, ...]) -> list[int]:
    """Zeros around a picture (top, left, bottom, right) so that a stride of one keeps its size."""
    if padding == "valid":
        return [0, 0, 0, 0]
    if padding != "same":
        raise ModelError(f"padding {padding!r} is not known")
    before = [(side - 1) // 2 for side in kernel]
    return [*before, *(side - 1 - first for side, first in zip(kernel, before, strict=True))]


def _refuse(name: str, config: Config, **known: Any) -> None:
    """Raise ModelError where a layer is set otherwise than this converter knows it."""
    for key, value in known.items():
        if config.get(key, value) != value:
            raise ModelError(f"the layer {name} has {key} {config[key]!r}; only {value!r} is known")
