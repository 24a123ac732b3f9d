"""What is done to a model once, when it enters the store, so that onnxruntime can run it.

    fold-yunet, fold-sface   int8 weights in blocks -> plain float32 weights, sizes set free
    free-centerface          a fixed 10x3x32x32 input -> any batch and size
    tflite                   a TFLite file -> ONNX, any batch (mpflow.models.tflite_graph)
    tfjs                     a TensorFlow.js network -> ONNX (mpflow.models.tfjs_graph)

The "int8bq" files of OpenCV Zoo hold each weight as int8 blocks behind DequantizeLinear and
Reshape nodes. onnxruntime loads them but fails at run: some nodes carry ``block_size`` with a
scale for the whole tensor. The arithmetic is done here instead: one multiplication per weight,
exact in float32 on any machine. Tensors are written as raw bytes in a fixed order and the file
is serialised deterministically, so the result has one hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from mpflow.errors import ModelError
from mpflow.models.manifest import Transform

Array = NDArray[Any]
Constants = dict[str, Array]
_BATCH, _HEIGHT, _WIDTH = 0, 2, 3  # places in an NCHW shape
_FOLDED_OPSET = 13  # without int8 blocks the remaining operators mean the same since 13
_FOLDED_IR = 8


def transform(name: Transform, source: Path, target: Path) -> None:
    """Write what transformation ``name`` makes of the file ``source`` to ``target``, as ONNX.

    Raises ModelError if the file is not the model that the transformation is for.
    """
    try:
        model = _transformed(name, source)
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        raise ModelError(f"{name} cannot be applied to {source.name}: {error}") from error
    target.write_bytes(model.SerializeToString(deterministic=True))


def fold_yunet(model: Any) -> None:
    """Plain float32 weights; any batch, height and width (sides a multiple of 32)."""
    constants = _fold_constants(model.graph)
    for node in model.graph.node:
        if node.op_type == "Reshape":  # [1, -1, k], at each of the twelve outputs
            channels = constants[node.input[1]][-1]
            constants[node.input[1]] = np.array([0, -1, channels], np.int64)  # 0 keeps the batch
    (picture,) = model.graph.input
    _free(picture, {_BATCH: "n", _HEIGHT: "h", _WIDTH: "w"})
    for output in model.graph.output:
        stride = output.name.partition("_")[2]
        _free(output, {_BATCH: "n", 1: f"cells_{stride}"})
    _store_constants(model, constants)


def fold_sface(model: Any) -> None:
    """Plain float32 weights; any batch."""
    constants = _fold_constants(model.graph)
    _drop_stale_inputs(model.graph, constants)
    for value in [*model.graph.input, *model.graph.output]:
        _free(value, {_BATCH: "n"})
    _store_constants(model, constants)


def free_centerface(model: Any) -> None:
    """Any batch, height and width (sides a multiple of 32); weights stay as they are."""
    _drop_stale_inputs(model.graph, [tensor.name for tensor in model.graph.initializer])
    (picture,) = model.graph.input
    _free(picture, {_BATCH: "n", _HEIGHT: "h", _WIDTH: "w"})
    for output in model.graph.output:
        _free(output, {_BATCH: "n", _HEIGHT: "h4", _WIDTH: "w4"})
    del model.graph.value_info[:]


def _transformed(name: Transform, source: Path) -> Any:
    if name == "tflite":
        from mpflow.models.tflite_graph import onnx_from_tflite  # for the one file that needs it

        return onnx_from_tflite(source)
    if name == "tfjs":
        from mpflow.models.tfjs_graph import onnx_from_tfjs

        return onnx_from_tfjs(source)
    model = onnx.load(source)
    _TRANSFORMS[name](model)
    return model


_TRANSFORMS: Mapping[Transform, Callable[[Any], None]] = {
    "fold-yunet": fold_yunet,
    "fold-sface": fold_sface,
    "free-centerface": free_centerface,
}


def _fold_constants(graph: Any) -> Constants:
    """Take the nodes that only compute weights out of the graph; return all constants."""
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    kept = []
    for node in graph.node:
        value = _constant_value(node, constants)
        if value is None:
            kept.append(node)
        else:
            constants[node.output[0]] = value
    del graph.node[:]
    graph.node.extend(kept)
    return constants


def _constant_value(node: Any, constants: Constants) -> Array | None:
    """The value of a node whose inputs are all constants; None for a node that must run."""
    if not all(name in constants for name in node.input):
        return None
    if node.op_type == "DequantizeLinear":
        quantized, scale, zero = (constants[name] for name in node.input)
        given = {item.name: item.i for item in node.attribute}
        return dequantize(quantized, scale, zero, given.get("axis", 1), given.get("block_size", 0))
    if node.op_type == "Reshape":
        return constants[node.input[0]].reshape(constants[node.input[1]])
    return None


def dequantize(quantized: Array, scale: Array, zero: Array, axis: int, block: int) -> Array:
    """(quantized - zero) * scale in float32, as ONNX's DequantizeLinear defines it.

    ``scale`` and ``zero`` hold one value for all, one per index of ``axis``, or one per ``block``
    values along ``axis``. One value for all wins over a ``block`` that is given beside it: that
    is what the files mean and what onnxruntime refuses.
    """
    if scale.size == 1:
        scale, zero = scale.reshape(()), zero.reshape(())
    elif block and scale.ndim == quantized.ndim:
        length = quantized.shape[axis]
        scale = scale.repeat(block, axis).take(range(length), axis)
        zero = zero.repeat(block, axis).take(range(length), axis)
    else:
        shape = [1] * quantized.ndim
        shape[axis] = -1
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    difference = quantized.astype(np.float32) - zero.astype(np.float32)
    result: Array = difference * scale.astype(np.float32)
    return result


def _free(value: Any, names: Mapping[int, str]) -> None:
    """Give dimensions of an input or output a name in place of a number."""
    dimensions = value.type.tensor_type.shape.dim
    for place, name in names.items():
        dimensions[place].dim_param = name


def _drop_stale_inputs(graph: Any, constants: Iterable[str]) -> None:
    """Remove inputs that are constants, or that no node reads: callers need not feed them."""
    read = {name for node in graph.node for name in node.input} - set(constants)
    kept = [value for value in graph.input if value.name in read]
    del graph.input[:]
    graph.input.extend(kept)


def _store_constants(model: Any, constants: Constants) -> None:
    """Put the constants that are still read into the model, sorted by name, as raw bytes.

    Shapes noted for inner values speak of the old graph, so they go; the model then speaks
    plain ONNX of ``_FOLDED_OPSET``.
    """
    graph = model.graph
    read = {name for node in graph.node for name in node.input}
    del graph.initializer[:], graph.value_info[:], model.opset_import[:]
    graph.initializer.extend(_tensor(name, constants[name]) for name in sorted(read & {*constants}))
    model.opset_import.append(onnx.helper.make_opsetid("", _FOLDED_OPSET))
    model.ir_version = _FOLDED_IR


def _tensor(name: str, array: Array) -> Any:
    """A tensor with its values as little-endian raw bytes, whatever onnx would choose."""
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    return onnx.TensorProto(name=name, dims=array.shape, data_type=kind, raw_data=little.tobytes())
