"""The swap stage with a network: one session, one call for the faces of several frames."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import fits
import msgspec
import numpy as np
import pytest
import scenes
import tinyswappers

from mpflow.errors import ConfigError
from mpflow.models.align import TEMPLATES
from mpflow.models.store import ModelStore
from mpflow.stage import StageContext, Work
from mpflow.stages.swap import Swap, SwapOptions
from mpflow.tokens import Token

SIDE = 128


def test_faces_of_several_frames_are_made_in_one_call(
    tmp_path: Path, model_store: ModelStore
) -> None:
    """Each face keeps its left half, and its right one shows the source's embedding."""
    emap = np.random.default_rng(4).normal(0, 1, (6, 5)).astype(np.float32)
    model = tinyswappers.swapper(tmp_path / "inswapper_128.onnx", SIDE, source=5, emap=emap)
    tinyswappers.embedder(tmp_path / "w600k_r50.onnx")
    reports: dict[str, Any] = {}
    options = {"model": str(model), "max_batch": 4, "faces": 3, "drift": 0, "device": "cpu"}
    photo = str(model_store.path("astronaut"))
    chosen = msgspec.convert({**options, "sources": (photo,)}, SwapOptions)
    stage = Swap(chosen, StageContext("swap", report=reports.__setitem__))
    stage.open()
    assert reports["session"]["device"] == "cpu"
    calls = counted(stage)

    picture = scenes.read(model_store, "group-photo")
    faces = fits.faces_of(model_store, picture)
    slots = [fits.slot_with_room(picture, stage.side_bytes, "yuv444p") for _ in range(2)]
    works = [
        Work(replace(Token("run", seq), faces=faces), slot.frame())
        for seq, slot in enumerate(slots)
    ]
    tokens = list(stage.process(works))
    assert calls == [6]  # three of each frame
    colours = []
    for token, slot in zip(tokens, slots, strict=True):
        swapped = [face for face in token.faces if "swap" in face.refs]
        assert len(swapped) == 3
        for face in swapped:
            made, matrix, mask = (
                slot.frame().attached(face, name) for name in ("swap", "swap.matrix", "swap.mask")
            )
            assert made is not None
            assert matrix is not None
            assert mask is not None
            assert (mask == 255).all()
            colours.append(made[:, SIDE // 2 :].reshape(-1, 3))
            there = np.column_stack([np.array(face.points), np.ones(5)]) @ matrix.T
            off = np.linalg.norm(there - TEMPLATES["arcface-128"] * SIDE, axis=1)
            assert off.mean() < 0.08 * SIDE
    every = np.concatenate(colours)
    assert (every == every[0]).all()


def test_a_photo_that_is_too_small_for_the_swapper_is_refused_by_its_name(
    tmp_path: Path, model_store: ModelStore
) -> None:
    tinyswappers.swapper(tmp_path / "net.onnx", 16, source=(3, 512, 512))
    model = tmp_path / "uniface.yaml"
    model.write_text("swapper: uniface\nfile: net.onnx\nsource: {side: 512}\n")
    photo = model_store.path("astronaut")
    chosen = msgspec.convert({"model": str(model), "sources": (str(photo),)}, SwapOptions)
    with pytest.raises(ConfigError, match=rf"{photo.name}' shows a face that would .*512 pixels"):
        Swap(chosen, StageContext("swap")).open()


def counted(stage: Any) -> list[int]:
    """How many crops come in each call of the stage's network from here on."""
    network = stage._cast.swapper.network.network
    session, calls = network._session, []

    class Counting:
        def run(self, names: Any, given: dict[str, Any]) -> Any:
            calls.append(len(given["target"]))
            return session.run(names, given)

    network._session = Counting()
    return calls
