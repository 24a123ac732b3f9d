"""Enhancers as small ONNX files with the ends that the published files have.

Each gives the picture that it is given with ``gain`` times its distance from grey, so that what
came of a crop is known: GFPGAN's ends, CodeFormer's (a float64 weight w, and outputs that are no
picture), and a network that enlarges.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE


def restoring(
    path: Path, gain: float = 1.0, side: int | str = 64, batch: int | str = 1, name: str = "input"
) -> Path:
    """GFPGAN's and RestoreFormer's ends: one crop -1..1 in, one out."""
    nodes = [helper.make_node("Mul", [name, "gain"], ["made"])]
    nodes += [helper.make_node("Clip", ["made", "low", "high"], ["output"])]
    constants = {"gain": gain, "low": -1, "high": 1}
    return _save(path, nodes, constants, {name: (FLOAT, [batch, 3, side, side])}, ["output"])


def weighing(
    path: Path, side: int = 64, name: str = "w", kind: int = DOUBLE, shape: tuple[int, ...] = (1,)
) -> Path:
    """CodeFormer's ends: the picture comes out ``w`` times as strong, and two outputs beside it."""
    nodes = [
        helper.make_node("Cast", [name], ["strength"], to=FLOAT),
        helper.make_node("Mul", ["x", "strength"], ["y"]),
        helper.make_node("ReduceMean", ["x"], ["logits"], axes=[2]),
        helper.make_node("ReduceMean", ["x"], ["style_feat"], axes=[3]),
    ]
    inputs = {"x": (FLOAT, [1, 3, side, side]), name: (kind, list(shape))}
    return _save(path, nodes, {}, inputs, ["y", "logits", "style_feat"])


def enlarging(path: Path, scale: int, side: int | str = "s") -> Path:
    """Each pixel ``scale`` times in both directions; 0..1, any batch."""
    node = helper.make_node(
        "Resize",
        ["LR", "", "scales"],
        ["SR"],
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    constants: dict[str, Any] = {"scales": np.array([1, 1, scale, scale], np.float32)}
    return _save(path, [node], constants, {"LR": (FLOAT, ["n", 3, side, side])}, ["SR"])


def _save(
    path: Path,
    nodes: list[Any],
    constants: dict[str, Any],
    inputs: dict[str, tuple[int, list[Any]]],
    outputs: list[str],
) -> Path:
    kept = [
        numpy_helper.from_array(np.asarray(value, np.float32), key)
        for key, value in constants.items()
    ]
    given = [
        helper.make_tensor_value_info(key, kind, shape) for key, (kind, shape) in inputs.items()
    ]
    made = [helper.make_tensor_value_info(key, FLOAT, None) for key in outputs]
    graph = helper.make_graph(nodes, "tiny", given, made, kept)
    opset = helper.make_opsetid("", 13)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), str(path))
    return path
