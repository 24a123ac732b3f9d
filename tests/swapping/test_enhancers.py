"""Descriptions of enhancers, and files with the ends that the published ones have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tinyenhancers
import yaml

from mpflow.errors import ConfigError, ModelError
from mpflow.models.store import ModelStore
from mpflow.swapping.enhancers import OpenedEnhancer, open_enhancer

SIDE = 64


def described(folder: Path, **keys: Any) -> str:
    path = folder / "net.yaml"
    path.write_text(yaml.safe_dump({"file": "net.onnx", **keys}))
    return str(path)


def opened(folder: Path, size: int = 512, most: int = 2, **keys: Any) -> OpenedEnhancer:
    store = ModelStore(folder / "cache", offline=True)
    return open_enhancer(described(folder, **keys), store, size=size, most=most, device="cpu")[0]


def crops(count: int = 2, side: int = SIDE) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 256, (count, side, side, 3), np.uint8)


def stronger(given: np.ndarray, gain: float) -> np.ndarray:
    """A crop with so many times its distance from grey."""
    return np.clip(np.rint((given.astype(float) - 127.5) * gain + 127.5), 0, 255)


@pytest.mark.parametrize("kind", ["gfpgan", "restoreformer"])
@pytest.mark.parametrize("batch", [1, "n"])
def test_two_lines_describe_a_restoration_network(
    tmp_path: Path, kind: str, batch: int | str
) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx", 0.5, batch=batch)
    model = opened(tmp_path, enhancer=kind)
    assert (model.template, model.times, model.side) == ("ffhq", 1, SIDE)
    given = crops()
    pictures, good = model.network.run(given)
    assert np.abs(pictures - stronger(given, 0.5)).max() <= 1
    assert good is None


@pytest.mark.parametrize("name", ["w", "weight", "onnx::Cast_1"])
@pytest.mark.parametrize("kind", [tinyenhancers.DOUBLE, tinyenhancers.FLOAT])
@pytest.mark.parametrize("shape", [(1,), ()])
def test_codeformers_weight_is_found_whatever_it_is_called(
    tmp_path: Path, name: str, kind: int, shape: tuple[int, ...]
) -> None:
    tinyenhancers.weighing(tmp_path / "net.onnx", name=name, kind=kind, shape=shape)
    given = crops()
    for fidelity, gain in ((0.25, 0.25), (None, 0.5)):
        keys = {} if fidelity is None else {"fidelity": fidelity}
        pictures, _ = opened(tmp_path, enhancer="codeformer", **keys).network.run(given)
        assert np.abs(pictures - stronger(given, gain)).max() <= 1


def test_a_codeformer_file_without_a_weight_says_what_it_has(tmp_path: Path) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx")
    with pytest.raises(ModelError, match="which input is the weight") as caught:
        opened(tmp_path, enhancer="codeformer")
    assert "It has: input" in str(caught.value)
    tinyenhancers.weighing(tmp_path / "net.onnx")
    with pytest.raises(ModelError, match=r"\[1, 3, 64, 64\], not one number"):
        opened(tmp_path, enhancer="codeformer", fidelity_input="x")
    with pytest.raises(ModelError, match="it has several inputs"):
        opened(tmp_path, enhancer="gfpgan")


@pytest.mark.parametrize("scale", [2, 4])
def test_a_network_that_enlarges_gets_crops_so_small_that_what_comes_out_has_the_size(
    tmp_path: Path, scale: int
) -> None:
    tinyenhancers.enlarging(tmp_path / "net.onnx", scale)
    model = opened(tmp_path, size=128, enhancer="super-resolution", scale=scale)
    assert (model.times, model.side, model.network.made) == (scale, 128 // scale, 128)
    given = crops(side=model.side)
    np.testing.assert_array_equal(model.network.run(given)[0][:, ::scale, ::scale], given)
    tinyenhancers.enlarging(tmp_path / "net.onnx", scale, 24)
    fixed = opened(tmp_path, size=128, enhancer="super-resolution", scale=scale)
    assert (fixed.side, fixed.network.made) == (24, 24 * scale)


def test_a_network_that_enlarges_by_another_scale_does_not_fit(tmp_path: Path) -> None:
    tinyenhancers.enlarging(tmp_path / "net.onnx", 2)
    with pytest.raises(ModelError, match=r"net\.onnx does not fit"):
        opened(tmp_path, size=64, enhancer="super-resolution", scale=4)


def test_a_restoration_network_of_any_size_gets_crops_of_the_size(tmp_path: Path) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx", side="s")
    assert opened(tmp_path, size=96, enhancer="gfpgan").side == 96
    assert opened(tmp_path, enhancer="gfpgan", input={"side": 48}).side == 48


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "describes no enhancer: it has none"),
        ({"enhancer": "gpen"}, "enhancer 'gpen' is none"),
        ({"enhancer": "gfpgan", "fidelity": 0.5}, "unknown key fidelity"),
        ({"enhancer": "codeformer", "fidelity": 2}, "fidelity"),
        ({"enhancer": "super-resolution"}, "the key scale is missing"),
        ({"enhancer": "super-resolution", "scale": 3}, "scale"),
        ({"enhancer": "gfpgan", "template": "ears"}, "template"),
    ],
)
def test_a_wrong_description_is_named(tmp_path: Path, keys: dict[str, Any], said: str) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx")
    with pytest.raises(ConfigError, match=said):
        opened(tmp_path, **keys)


@pytest.mark.parametrize(
    ("kind", "wanted"), [("gfpgan", "gfpgan_1.4.onnx"), ("codeformer", "codeformer.onnx")]
)
def test_a_file_that_is_not_there_is_asked_for(tmp_path: Path, kind: str, wanted: str) -> None:
    with pytest.raises(ModelError, match="which is not there") as caught:
        opened(tmp_path, enhancer=kind)
    assert f"bring {wanted}" in caught.value.cure


def test_a_file_of_another_hash_is_named(tmp_path: Path) -> None:
    tinyenhancers.restoring(tmp_path / "net.onnx")
    with pytest.raises(ModelError, match="wrong hash"):
        opened(tmp_path, enhancer="gfpgan", sha256="0" * 64)


@pytest.mark.parametrize("name", ["", "yunet", "gfpgan.onnx"])
def test_what_is_no_enhancer_says_what_to_bring(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_enhancer(name, ModelStore(tmp_path, offline=True))
    assert "GFPGAN, CodeFormer or RestoreFormer" in caught.value.cure
    assert "esrgan-slim-x2" in caught.value.cure


def test_the_network_of_the_store_opens_by_its_name(model_store: ModelStore) -> None:
    model, facts = open_enhancer("esrgan-slim-x2", model_store, size=64, device="cpu")
    assert (model.times, model.side, model.network.made, facts.device) == (2, 32, 64, "cpu")
    grey = np.full((1, 32, 32, 3), 100, np.uint8)
    assert np.abs(model.network.run(grey)[0][:, 8:-8, 8:-8].astype(int) - 100).max() <= 4
