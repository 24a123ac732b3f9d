"""Embedders by name: SFace from the store, and what insightface loads where it is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import people
import pytest
import scenes
from onnx import TensorProto, helper

from mpflow.errors import ModelError
from mpflow.models.align import crop
from mpflow.models.detectors import detector
from mpflow.models.embedders import open_embedder
from mpflow.models.letterbox import letterbox
from mpflow.models.sessions import open_session
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore


@pytest.fixture(scope="module")
def crops(model_store: ModelStore) -> list[scenes.Picture]:
    """Two faces, upright."""
    yunet = detector("yunet", open_session(model_store.path("yunet"), device="cpu")[0])
    found = []
    for name in people.FACES:
        picture = scenes.read(model_store, name)
        blob, scale = letterbox(picture, 640, 640)
        found.append(crop(picture, yunet.detect(blob)[0].scaled(1 / scale).points[0]))
    return found


def test_sface_is_an_embedder_with_thresholds_of_its_own(
    model_store: ModelStore, crops: list[scenes.Picture]
) -> None:
    embedder, facts = open_embedder("sface", model_store, device="cpu")
    assert isinstance(embedder, SFace)
    assert facts.device == "cpu"
    assert embedder.embed(crops).shape == (len(crops), 128)
    assert embedder.other < embedder.same
    assert embedder.size == crops[0].shape[0]


@pytest.mark.parametrize(
    ("model", "says"),
    [("yunet", "is no embedder"), ("sfaces", "no model is called"), ("a.onnx", "no model")],
)
def test_what_is_no_embedder_is_named(model_store: ModelStore, model: str, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        open_embedder(model, model_store)


def test_without_insightface_the_cure_is_named(
    model_store: ModelStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "insightface", None)
    with pytest.raises(ModelError, match="insightface cannot be imported") as caught:
        open_embedder("insightface:buffalo_l", model_store)
    assert "[insightface]" in caught.value.cure


@pytest.fixture
def installed() -> None:
    """Only where the extra is installed."""
    pytest.importorskip("insightface", reason="pip install 'mpflow-pipeline[insightface]'")


@pytest.mark.usefixtures("installed")
@pytest.mark.filterwarnings("ignore")
def test_insightface_gives_the_numbers_that_it_gives_by_itself(
    model_store: ModelStore, crops: list[scenes.Picture]
) -> None:
    from insightface.model_zoo import get_model

    path = model_store.path("sface")
    adapter, _ = open_embedder(f"insightface:{path}", model_store, device="cpu")
    theirs = get_model(str(path), providers=["CPUExecutionProvider"]).get_feat(crops)
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    ours, _ = open_embedder("sface", model_store, device="cpu")
    found = adapter.embed(crops)
    assert found.shape == theirs.shape
    assert (found * theirs).sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert (found * ours.embed(crops)).sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert adapter.embed([]).shape[0] == 0


@pytest.mark.usefixtures("installed")
@pytest.mark.filterwarnings("ignore")
def test_a_pack_is_searched_for_the_file_that_embeds(
    model_store: ModelStore,
    crops: list[scenes.Picture],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".insightface" / "models" / "mine"
    folder.mkdir(parents=True)
    tiny(folder / "w600k.onnx", [3, 112, 112])
    tiny(folder / "genderage.onnx", [3, 96, 96])
    tiny(folder / "det.onnx", [3, 640, 640], outputs=2)
    adapter, _ = open_embedder("insightface:mine", model_store, device="cpu")
    rows = adapter.embed(crops)
    assert rows.shape == (len(crops), 3)
    means = crops[0].mean(axis=(0, 1))[::-1] / 127.5 - 1  # RGB, as the contract asks
    assert rows[0] == pytest.approx(means / np.linalg.norm(means), abs=1e-4)


@pytest.mark.usefixtures("installed")
@pytest.mark.filterwarnings("ignore")
def test_a_file_or_pack_of_no_use_is_named(
    model_store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    wrong = tiny(tmp_path / "wrong.onnx", [3, 96, 96])
    with pytest.raises(ModelError, match="no ArcFace model"):
        open_embedder(f"insightface:{wrong}", model_store, device="cpu")
    with pytest.raises(ModelError, match="there is no model file"):
        open_embedder(f"insightface:{tmp_path}/gone.onnx", model_store, device="cpu")
    offline = ModelStore(model_store.cache_dir.parent, offline=True)
    with pytest.raises(ModelError, match="offline it cannot be fetched"):
        open_embedder("insightface:buffalo_l", offline)
    folder = tmp_path / ".insightface" / "models" / "other"
    folder.mkdir(parents=True)
    with pytest.raises(ModelError, match="embeds faces"):
        open_embedder("insightface:other", model_store)


def tiny(path: Path, shape: list[int], outputs: int = 1) -> Path:
    """A network whose numbers are the mean of each channel."""
    names = [f"out{number}" for number in range(outputs)]
    nodes = [
        helper.make_node("ReduceMean", ["data", "axes"], [name], name=f"pool{name}", keepdims=0)
        for name in names
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["n", *shape])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in names],
        [helper.make_tensor("axes", TensorProto.INT64, [2], [2, 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, str(path))
    return path
