"""A TFLite file as an ONNX graph of any batch: enough for MediaPipe's convolutional networks.

    tensors [n, h, w, c] -> [n, c, h, w]     weights [out, h, w, in] -> [out, in, h, w]

The file is parsed by the tflite package (TFLite's own schema as Python classes). What is not known
here (another operator, a fused activation, weights that are not float32) is an error that names it:
a graph that is only nearly right would be worse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tflite
from numpy.typing import NDArray

from mpflow.errors import ModelError

Pads = tuple[int, int, int, int]
"""Zeros around a picture as ONNX names them: top, left, bottom, right."""

_OPSET, _IR = 13, 8
_NAMES = {
    code: name for name, code in vars(tflite.BuiltinOperator).items() if isinstance(code, int)
}
_KINDS = {tflite.TensorType.FLOAT32: "<f4", tflite.TensorType.INT32: "<i4"}
_CHANNELS_FIRST = (0, 3, 1, 2)


def onnx_from_tflite(source: Path) -> Any:
    """The network in ``source`` as an ONNX model: NCHW, any batch, inputs and outputs by the names
    they have. Outputs of one pixel come flat, [n, c].

    Raises ModelError for what this converter does not know.
    """
    model = tflite.Model.GetRootAsModel(source.read_bytes(), 0)
    return _Conversion(model).model()


class _Conversion:
    """One graph on its way: nodes and weights so far."""

    def __init__(self, model: Any) -> None:
        self._source = model
        self._graph = model.Subgraphs(0)
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        self._inputs = [int(each) for each in self._graph.InputsAsNumpy()]

    def model(self) -> Any:
        """Every operator in its order, then the ends of the graph."""
        for number in range(self._graph.OperatorsLength()):
            operator = self._graph.Operators(number)
            self._convert(self._kind(operator), operator)
        inputs = [self._value(each, self._name(each)) for each in self._inputs]
        outputs = [self._output(int(each)) for each in self._graph.OutputsAsNumpy()]
        graph = onnx.helper.make_graph(self._nodes, "graph", inputs, outputs, self._weights)
        made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", _OPSET)])
        made.ir_version = _IR
        made.producer_name = ""
        return made

    def _kind(self, operator: Any) -> str:
        code = self._source.OperatorCodes(operator.OpcodeIndex())
        name: str = _NAMES[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
        return name

    def _convert(self, kind: str, operator: Any) -> None:
        if kind not in _OPERATORS:
            known = ", ".join(sorted(_OPERATORS))
            raise ModelError(
                f"TFLite's operator {kind} cannot be converted", cure=f"known: {known}"
            )
        inputs = [int(each) for each in operator.InputsAsNumpy()]
        _OPERATORS[kind](self, operator, inputs, int(operator.OutputsAsNumpy()[0]))

    def _conv(self, operator: Any, inputs: list[int], output: int) -> None:
        options = _options(operator, tflite.Conv2DOptions)
        weights = self._constant(inputs[1]).transpose(_CHANNELS_FIRST)
        self._convolution(options, inputs, output, weights, groups=1)

    def _depthwise(self, operator: Any, inputs: list[int], output: int) -> None:
        options = _options(operator, tflite.DepthwiseConv2DOptions)
        if options.DepthMultiplier() != 1:
            raise ModelError("a depthwise convolution that multiplies channels is not known")
        weights = self._constant(inputs[1]).transpose(3, 0, 1, 2)
        self._convolution(options, inputs, output, weights, groups=len(weights))

    def _convolution(
        self, options: Any, inputs: list[int], output: int, weights: NDArray[Any], groups: int
    ) -> None:
        _refuse_activation(options)
        if (options.DilationHFactor(), options.DilationWFactor()) != (1, 1):
            raise ModelError("a dilated convolution is not known")
        kernel = weights.shape[2:]
        self._add(
            "Conv",
            [self._name(inputs[0]), self._keep(inputs[1], weights), self._keep(inputs[2])],
            output,
            kernel_shape=kernel,
            strides=(options.StrideH(), options.StrideW()),
            pads=self._pads(options, inputs[0], kernel),
            group=groups,
        )

    def _prelu(self, operator: Any, inputs: list[int], output: int) -> None:
        slopes = self._constant(inputs[1])  # [1, 1, c]: one for each channel
        if slopes.size != slopes.shape[-1]:
            raise ModelError("a PRELU with a slope for each pixel is not known")
        kept = self._keep(inputs[1], slopes.reshape(-1, 1, 1))
        self._add("PRelu", [self._name(inputs[0]), kept], output)

    def _sum(self, operator: Any, inputs: list[int], output: int) -> None:
        _refuse_activation(_options(operator, tflite.AddOptions))
        self._add("Add", [self._name(each) for each in inputs], output)

    def _max_pool(self, operator: Any, inputs: list[int], output: int) -> None:
        options = _options(operator, tflite.Pool2DOptions)
        _refuse_activation(options)
        kernel = options.FilterHeight(), options.FilterWidth()
        self._add(
            "MaxPool",
            [self._name(inputs[0])],
            output,
            kernel_shape=kernel,
            strides=(options.StrideH(), options.StrideW()),
            pads=self._pads(options, inputs[0], kernel),
        )

    def _pad(self, operator: Any, inputs: list[int], output: int) -> None:
        around = self._constant(inputs[1])[list(_CHANNELS_FIRST)]  # [axis, (before, after)]
        kept = self._keep(inputs[1], around.T.reshape(-1).astype(np.int64))
        self._add("Pad", [self._name(inputs[0]), kept], output)

    def _pads(self, options: Any, source: int, kernel: tuple[int, ...]) -> Pads:
        """TensorFlow's "same": the output is the input over the stride, rounded up."""
        if options.Padding() == tflite.Padding.VALID:
            return 0, 0, 0, 0
        strides = options.StrideH(), options.StrideW()
        sides = self._shape(source)[1:3]
        needed = [
            max((-(-side // stride) - 1) * stride + size - side, 0)
            for side, stride, size in zip(sides, strides, kernel, strict=True)
        ]
        top, left = needed[0] // 2, needed[1] // 2
        return top, left, needed[0] - top, needed[1] - left

    def _output(self, tensor: int) -> Any:
        """One end of the graph; a picture of one pixel is flat."""
        name = self._graph.Tensors(tensor).Name().decode()
        flat = self._shape(tensor)[1:3] == [1, 1]
        kind = "Flatten" if flat else "Identity"
        self._nodes.append(onnx.helper.make_node(kind, [self._name(tensor)], [name]))
        return self._value(tensor, name, flat=flat)

    def _value(self, tensor: int, name: str, *, flat: bool = False) -> Any:
        batch, height, width, channels = self._shape(tensor)
        if batch != 1:
            raise ModelError(f"a TFLite network of batch {batch} is not known")
        sides: list[str | int | None] = [] if flat else [height, width]
        shape = ["n", channels, *sides]
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

    def _name(self, tensor: int) -> str:
        if tensor not in self._inputs:
            return f"t{tensor}"
        name: str = self._graph.Tensors(tensor).Name().decode()
        return name

    def _shape(self, tensor: int) -> list[int]:
        return [int(side) for side in self._graph.Tensors(tensor).ShapeAsNumpy()]

    def _constant(self, tensor: int) -> NDArray[Any]:
        """The values of a tensor that is part of the file."""
        found = self._graph.Tensors(tensor)
        kind = _KINDS.get(found.Type())
        data = self._source.Buffers(found.Buffer())
        if kind is None or not data.DataLength():
            name = found.Name().decode()
            raise ModelError(f"{name} is no constant of float32 or int32 values")
        return np.frombuffer(data.DataAsNumpy().tobytes(), kind).reshape(self._shape(tensor))

    def _keep(self, tensor: int, array: NDArray[Any] | None = None) -> str:
        """Put a constant into the model as little-endian raw bytes; its name."""
        values = self._constant(tensor) if array is None else array
        little = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"))
        kind = onnx.helper.np_dtype_to_tensor_dtype(values.dtype)
        name = f"w{tensor}"
        self._weights.append(
            onnx.TensorProto(
                name=name, dims=little.shape, data_type=kind, raw_data=little.tobytes()
            )
        )
        return name

    def _add(self, kind: str, inputs: list[str], output: int, **attributes: Any) -> None:
        self._nodes.append(onnx.helper.make_node(kind, inputs, [self._name(output)], **attributes))


_OPERATORS: Mapping[str, Callable[[_Conversion, Any, list[int], int], None]] = {
    "CONV_2D": _Conversion._conv,
    "DEPTHWISE_CONV_2D": _Conversion._depthwise,
    "PRELU": _Conversion._prelu,
    "ADD": _Conversion._sum,
    "MAX_POOL_2D": _Conversion._max_pool,
    "PAD": _Conversion._pad,
}


def _options(operator: Any, kind: Any) -> Any:
    """The operator's options as what they are."""
    options, table = kind(), operator.BuiltinOptions()
    options.Init(table.Bytes, table.Pos)
    return options


def _refuse_activation(options: Any) -> None:
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.NONE:
        raise ModelError("an activation inside an operator is not known")
