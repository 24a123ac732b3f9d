"""Small mask networks of the two kinds whose answers are known: what is green covers the face, what
is blue is class 2, all else is class 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE = 32
OCCLUDER = "mask: occluder\nfile: tiny.onnx\ninput: {side: 32}\n"
PARSER = "mask: parser\nfile: tiny.onnx\nkeep: [1]\ninput: {side: 32}\n"


def occluder(path: Path, batch: int | str = "n", channels: str = "bgr", last: bool = True) -> Path:
    """1 where the crop is open, 0 where it is green; a colour 0..1 each, colours last."""
    weights = np.zeros(3, np.float32)
    weights[channels.index("g")], weights[channels.index("r")] = -2, 2
    return _saved(path, weights[None], np.array([1], np.float32), batch, last)


def parser(path: Path, batch: int | str = "n") -> Path:
    """Three classes by ImageNet's colours; class 0 is never the largest."""
    weights = np.array([[0, 0, 0], [0, 0, 0], [-1, -1, 2]], np.float32)
    return _saved(path, weights, np.array([-50, 0, -1], np.float32), batch, False)


def described(folder: Path, text: str) -> Path:
    """A description beside the file."""
    path = folder / "mask.yaml"
    path.write_text(text)
    return path


def _saved(path: Path, weights: np.ndarray, bias: np.ndarray, batch: int | str, last: bool) -> Path:
    """A convolution of one pixel; NHWC all through where colours come last."""
    count = len(weights)
    constants = [
        numpy_helper.from_array(weights[:, :, None, None], "weights"),
        numpy_helper.from_array(bias, "bias"),
    ]
    shape = [batch, SIDE, SIDE, 3] if last else [batch, 3, SIDE, SIDE]
    nodes = [helper.make_node("Conv", ["planes", "weights", "bias"], ["found"])]
    if last:
        nodes = [
            helper.make_node("Transpose", ["crop"], ["planes"], perm=[0, 3, 1, 2]),
            *nodes,
            helper.make_node("Transpose", ["found"], ["out"], perm=[0, 2, 3, 1]),
        ]
    else:
        nodes = [
            helper.make_node("Identity", ["crop"], ["planes"]),
            *nodes,
            helper.make_node("Identity", ["found"], ["out"]),
        ]
    out = [batch, SIDE, SIDE, count] if last else [batch, count, SIDE, SIDE]
    graph = helper.make_graph(
        nodes,
        "mask",
        [helper.make_tensor_value_info("crop", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, out)],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return path
