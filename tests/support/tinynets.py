"""Small ONNX files whose answers are known, built node by node.

They look at one thing only: how red a part of the picture is. How detectors of each make are built
of that is in tinydetectors.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]


@dataclass(frozen=True)
class Trained:
    """How the network's pictures were prepared when it was trained."""

    colour: str = "rgb"
    mean: tuple[float, float, float] = (0, 0, 0)
    std: tuple[float, float, float] = (1, 1, 1)

    def red(self, low: float, high: float) -> tuple[Array, float]:
        """Weights of the three channels, and the bias, of what is ``high`` for a pure red pixel and
        ``low`` for a grey or a blue one."""
        red, green = self.colour.index("r"), self.colour.index("g")
        weights = np.zeros(3, np.float32)
        slope = (high - low) / 255
        weights[red], weights[green] = slope * self.std[red], -slope * self.std[green]
        return weights, low + slope * (self.mean[red] - self.mean[green])


@dataclass
class Net:
    """A graph that grows node by node; ``sides`` are fixed where they are given."""

    trained: Trained
    sides: tuple[int, int] | None = None
    batch: int | str = "n"
    channels: int = 3
    given: str = "picture"
    """The name of the input that takes pictures."""
    more_inputs: list[str] = field(default_factory=list)
    each_inputs: dict[str, int | Sequence[int]] = field(default_factory=dict)
    """Inputs that belong to a picture, and the sides of each: [batch, *sides]."""
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def node(self, kind: str, inputs: Sequence[str], name: str = "", **given: Any) -> str:
        made = name or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [made], **given))
        return made

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def cells(self, stride: int, channels: Sequence[float | tuple[float, float]]) -> str:
        """One number per channel and cell [n, channels, h, w]: always the same one, or a pair
        (otherwise, where the cell is red)."""
        weights = np.zeros((len(channels), 3), np.float32)
        biases = np.zeros(len(channels), np.float32)
        for number, value in enumerate(channels):
            if isinstance(value, tuple):
                weights[number], biases[number] = self.trained.red(*value)
            else:
                biases[number] = value
        spread = np.repeat(weights[:, :, None], stride * stride, 2) / stride**2
        kernel = self.constant(spread.reshape(-1, 3, stride, stride).astype(np.float32))
        size = [stride, stride]
        inputs = [self.given, kernel, self.constant(biases)]
        return self.node("Conv", inputs, kernel_shape=size, strides=size)

    def rows(self, cells: str, numbers: int, *, batched: bool = True) -> str:
        """[n, anchors * numbers, h, w] as [n, h * w * anchors, numbers]."""
        last = self.node("Transpose", [cells], perm=[0, 2, 3, 1])
        shape = [0, -1, numbers] if batched else [-1, numbers]
        return self.node("Reshape", [last, self.constant(np.array(shape, np.int64))])

    def output(self, value: str, name: str) -> None:
        self.outputs.append(self.node("Identity", [value], name))

    def save(self, path: Path, input_type: int = TensorProto.FLOAT) -> Path:
        width, height = self.sides or ("w", "h")
        shape = [self.batch, self.channels, height, width]
        graph = helper.make_graph(
            self.nodes,
            "tiny",
            [
                helper.make_tensor_value_info(self.given, input_type, shape),
                *(helper.make_tensor_value_info(more, 1, [1]) for more in self.more_inputs),
                *(
                    helper.make_tensor_value_info(
                        name, 1, [self.batch, *([sides] if isinstance(sides, int) else sides)]
                    )
                    for name, sides in self.each_inputs.items()
                ),
            ],
            [helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in self.outputs],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, str(path))
        return path


def points(values: NDArray[Any], side: int, name: str, batch: int | str = "n") -> Net:
    """A landmark network that gives ``values``; their first number grows by one for a picture that
    is pure red, by half of that for one that is half red."""
    net = Net(Trained("rgb", std=(255.0,) * 3), (side, side), batch)
    red = net.cells(side, [(0.0, 1.0)])
    moves = np.zeros((1, *values.shape), np.float32)
    moves.flat[0] = 1
    shape = net.constant(np.array([-1, *[1] * values.ndim], np.int64))
    moved = net.node("Mul", [net.node("Reshape", [red, shape]), net.constant(moves)])
    net.output(net.node("Add", [moved, net.constant(values[None].astype(np.float32))]), name)
    return net
