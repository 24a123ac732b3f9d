"""Small files of the contracts of embedders, converters and swappers, whose answers are known.

A swapper's picture is its target at the left, and at the right one colour that says what came in as
its source: the first three numbers of an embedding, or the mean colour of a picture.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tinynets
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]
FEATURES = np.random.default_rng(11).normal(0, 1, (3, 6)).astype(np.float32)
"""What an embedder here makes of the mean colour of a crop, RGB -1..1: 6 numbers."""


def embedder(path: Path, batch: int | str = "n") -> Path:
    """An ArcFace file of 6 numbers."""
    net = tinynets.Net(tinynets.Trained(), (112, 112), batch, given="input.1")
    mean = net.node("ReduceMean", ["input.1"], axes=[2, 3], keepdims=0)
    made = net.node("MatMul", [mean, net.constant(FEATURES)])
    return _save(net, path, {"683": made}, {"683": [batch, 6]})


def converter(path: Path, bias: Array, width: int | None = None) -> Path:
    """Adds a bias to an embedding, so that its length matters."""
    wide = len(bias) if width is None else width
    graph = helper.make_graph(
        [helper.make_node("Add", ["input", "bias"], ["output"])],
        "converter",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, wide])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(bias[None].astype(np.float32), "bias")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return path


def swapper(
    path: Path,
    side: int,
    *,
    source: int | tuple[int, int, int] = 6,
    batch: int | str = "n",
    emap: Array | None = None,
    mask: bool = False,
    seen: tuple[int, int] | None = None,
    spread: tuple[float, float, float] = (1, 1, 1),
    zero: tuple[float, float, float] = (0, 0, 0),
) -> Path:
    """A swapper for crops of ``side``; what it is given times ``spread`` plus ``zero`` comes out.

    ``source`` is how many numbers it takes, or the shape of a picture; ``seen``: at the right is
    the colour of that place (x, y) of the target instead. ``mask`` gives one more output: the
    target's first channel.
    """
    net = tinynets.Net(tinynets.Trained(), (side, side), batch, given="target")
    net.each_inputs["source"] = source
    shape = (1, 3, 1, 1)
    scaled = net.node("Mul", ["target", net.constant(np.float32(spread).reshape(shape))])
    target = net.node("Add", [scaled, net.constant(np.float32(zero).reshape(shape))])
    left = _slice(net, target, (0,), (side // 2,), (3,))
    if seen is not None:
        x, y = seen
        colour = _slice(net, target, (y, x), (y + 1, x + 1), (2, 3))
    elif isinstance(source, int):
        first = _slice(net, "source", (0,), (3,), (1,))
        colour = net.node("Reshape", [first, net.constant(np.array([0, 3, 1, 1], np.int64))])
    else:
        colour = net.node("ReduceMean", ["source"], axes=[2, 3], keepdims=1)
    ones = net.constant(np.ones((1, 1, side, side - side // 2), np.float32))
    right = net.node("Mul", [colour, ones])
    net.output(net.node("Concat", [left, right], axis=3), "made")
    if mask:
        net.output(_slice(net, target, (0,), (1,), (1,)), "good")
    if emap is not None:
        net.constants.append(numpy_helper.from_array(emap.astype(np.float32), "buff2fs"))
    return net.save(path)


def _slice(
    net: tinynets.Net,
    value: str,
    start: tuple[int, ...],
    stop: tuple[int, ...],
    axes: tuple[int, ...],
) -> str:
    ends = [net.constant(np.array(each, np.int64)) for each in (start, stop, axes)]
    return net.node("Slice", [value, *ends])


def _save(
    net: tinynets.Net, path: Path, outputs: dict[str, str], shapes: dict[str, list[Any]]
) -> Path:
    """Save with outputs whose shapes are in the file, as exporters write them."""
    for name, value in outputs.items():
        net.output(value, name)
    net.save(path)
    model = onnx.load(str(path))
    for output in model.graph.output:
        made = helper.make_tensor_value_info(output.name, TensorProto.FLOAT, shapes[output.name])
        output.CopyFrom(made)
    onnx.save(model, str(path))
    return path
