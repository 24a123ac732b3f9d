"""A network of INSwapper's contract that has something to reckon, since the real one ships nowhere.

    target [n, 3, 128, 128] -> 4x4 patches -> six 3x3 convolutions of 256 channels at 32x32
                            -> back to pixels, made small -> + target

3.6 thousand million multiplications a face. What comes out is the target, slightly off: who is to
be seen does not matter to its cost.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import tinynets
import tinyswappers
from onnx import numpy_helper

SIDE, CHANNELS, LAYERS, PATCH, FEATURES = 128, 256, 6, 4, 512
GIGA_MULTIPLICATIONS = LAYERS * (SIDE // PATCH) ** 2 * CHANNELS**2 * 9 / 1e9


def heavy_swapper(folder: Path) -> Path:
    """The file, with a small embedder beside it where one is looked for."""
    random = np.random.default_rng(3)

    def weights(*shape: int) -> str:
        spread = np.sqrt(2 / np.prod(shape[1:]))
        return net.constant(random.normal(0, spread, shape).astype(np.float32))

    net = tinynets.Net(tinynets.Trained(), (SIDE, SIDE), given="target")
    net.each_inputs["source"] = FEATURES
    patches = {"kernel_shape": [PATCH, PATCH], "strides": [PATCH, PATCH]}
    value = net.node("Conv", ["target", weights(CHANNELS, 3, PATCH, PATCH)], **patches)
    for _ in range(LAYERS):
        padded = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        value = net.node("Conv", [value, weights(CHANNELS, CHANNELS, 3, 3)], **padded)
        value = net.node("Relu", [value])
    pixels = net.node("ConvTranspose", [value, weights(CHANNELS, 3, PATCH, PATCH)], **patches)
    little = net.node("Mul", [net.node("Tanh", [pixels]), net.constant(np.float32(0.01))])
    mean = net.node("ReduceMean", ["source"], axes=[1], keepdims=1)
    shape = net.constant(np.array([-1, 1, 1, 1], np.int64))
    shift = net.node("Mul", [net.node("Reshape", [mean, shape]), net.constant(np.float32(0.01))])
    net.output(net.node("Add", [net.node("Add", ["target", little]), shift]), "made")
    emap = random.normal(0, 1, (6, FEATURES)).astype(np.float32)
    net.constants.append(numpy_helper.from_array(emap, "buff2fs"))
    tinyswappers.embedder(folder / "w600k_r50.onnx")
    return net.save(folder / "inswapper_128.onnx")
