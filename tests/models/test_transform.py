from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from mpflow.errors import ModelError
from mpflow.models.fetch import sha256_of
from mpflow.models.store import ModelStore
from mpflow.models.transform import dequantize, transform


def test_one_scale_for_all_wins_over_a_block_size() -> None:
    values = np.array([[1, 2], [3, 4]], np.int8)
    scale, zero = np.array([0.5], np.float32), np.array([1], np.int8)
    found = dequantize(values, scale, zero, axis=1, block=2)
    assert found.tolist() == [[0.0, 0.5], [1.0, 1.5]]
    assert found.dtype == np.float32


def test_a_scale_for_each_block_is_repeated_along_its_axis() -> None:
    values = np.array([[1, 2, 3, 4, 5]], np.int8)
    scale, zero = np.array([[1, 10, 100]], np.float32), np.zeros((1, 3), np.int8)
    found = dequantize(values, scale, zero, axis=1, block=2)
    assert found.tolist() == [[1, 2, 30, 40, 500]]


def test_a_scale_for_each_index_of_an_axis() -> None:
    values = np.array([[1, 2], [3, 4]], np.int8)
    scale, zero = np.array([1, 10], np.float32), np.array([0, 1], np.int8)
    found = dequantize(values, scale, zero, axis=0, block=0)
    assert found.tolist() == [[1, 2], [20, 30]]


def test_the_int8_difference_does_not_wrap_round() -> None:
    found = dequantize(
        np.array([[-128]], np.int8), np.array([1], np.float32), np.array([127], np.int8), 0, 0
    )
    assert found.tolist() == [[-255.0]]


@pytest.mark.parametrize("size", [(40, 64), (1, 3)])
def test_dequantisation_is_what_onnx_itself_computes(size: tuple[int, int]) -> None:
    """onnx's reference evaluator is another implementation of the same definition."""
    random = np.random.default_rng(1)
    block = min(16, size[1])
    blocks = (size[0], -(-size[1] // block))
    values = random.integers(-128, 128, size, np.int8)
    scale = random.random(blocks, np.float32)
    zero = random.integers(-128, 128, blocks, np.int8)
    node = helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=1, block_size=block)
    named = {"q": values, "s": scale, "z": zero}
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), None)
        for name, array in named.items()
    ]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    model = helper.make_model(
        helper.make_graph([node], "g", inputs, [output]),
        opset_imports=[helper.make_opsetid("", 21)],
    )
    (expected,) = ReferenceEvaluator(model).run(None, named)
    np.testing.assert_array_equal(dequantize(values, scale, zero, 1, block), expected)


def test_folding_a_file_that_is_no_model_is_a_model_error(tmp_path: Path) -> None:
    source = tmp_path / "text.onnx"
    source.write_text("no model")
    with pytest.raises(ModelError, match=r"fold-yunet cannot be applied to text\.onnx"):
        transform("fold-yunet", source, tmp_path / "result.onnx")
    assert not (tmp_path / "result.onnx").exists()


def test_folding_another_model_is_a_model_error(tmp_path: Path) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in ("x", "y")]
    node = helper.make_node("Relu", ["x"], ["y"])
    source = tmp_path / "relu.onnx"
    onnx.save(helper.make_model(helper.make_graph([node], "g", values[:1], values[1:])), source)
    with pytest.raises(ModelError, match="fold-yunet cannot be applied"):
        transform("fold-yunet", source, tmp_path / "result.onnx")


@pytest.mark.parametrize("name", ["yunet", "sface", "centerface"])
def test_a_prepared_model_has_no_quantised_weight_and_any_batch(
    model_store: ModelStore, name: str
) -> None:
    model = onnx.load(model_store.path(name))
    assert "DequantizeLinear" not in {node.op_type for node in model.graph.node}
    assert {numpy_helper.to_array(item).dtype.kind for item in model.graph.initializer} <= {
        "f",
        "i",
    }
    assert len(model.graph.input) == 1
    for value in [*model.graph.input, *model.graph.output]:
        assert value.type.tensor_type.shape.dim[0].dim_param == "n"


def test_preparing_twice_gives_the_same_bytes(model_store: ModelStore, tmp_path: Path) -> None:
    """CenterFace can be prepared again from its own result."""
    once = model_store.path("centerface")
    transform("free-centerface", once, tmp_path / "again.onnx")
    assert sha256_of(tmp_path / "again.onnx") == sha256_of(once)
