"""Descriptions of mask networks: read strictly, held against their file, and right."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import tinymasks

from mpflow.errors import ConfigError, ModelError
from mpflow.models.sessions import open_session
from mpflow.models.sockets import Origin
from mpflow.swapping.checking import check
from mpflow.swapping.maskfile import MaskNetwork, load_masking

SIDE = tinymasks.SIDE


def network(folder: Path, text: str) -> MaskNetwork:
    path = tinymasks.described(folder, text)
    described = load_masking(path)
    file = described.found(path)
    return MaskNetwork(open_session(file, device="cpu")[0], described, Origin(path, file))


def crops() -> np.ndarray:
    """Two: the upper half of the first is green, the left half of the second is blue."""
    two = np.full((2, SIDE, SIDE, 3), (120, 120, 200), np.uint8)
    two[0, : SIDE // 2] = (0, 255, 0)
    two[1, :, : SIDE // 2] = (255, 0, 0)
    return two


def upper() -> np.ndarray:
    expected = np.ones((SIDE, SIDE), np.float32)
    expected[: SIDE // 2] = 0
    return expected


@pytest.mark.parametrize("batch", ["n", 1])
@pytest.mark.parametrize(
    ("more", "channels", "last"),
    [
        ("", "bgr", True),
        ("input: {side: 32, layout: nchw}\n", "bgr", False),
        ("input: {side: 32, colour: rgb}\n", "rgb", True),
    ],
)
def test_an_occluder_says_where_a_face_is_open(
    tmp_path: Path, batch: int | str, more: str, channels: str, last: bool
) -> None:
    tinymasks.occluder(tmp_path / "tiny.onnx", batch, channels, last)
    text = tinymasks.OCCLUDER.replace("input: {side: 32}\n", more) if more else tinymasks.OCCLUDER
    made = network(tmp_path, text)
    assert made.single == (batch == 1)
    shares = made.shares(crops())
    assert shares.shape == (2, SIDE, SIDE)
    assert np.array_equal(shares[0], upper())
    assert shares[1].all()


def test_an_occluder_may_show_the_cover_instead(tmp_path: Path) -> None:
    tinymasks.occluder(tmp_path / "tiny.onnx")
    made = network(tmp_path, tinymasks.OCCLUDER + "shows: cover\n")
    assert np.array_equal(made.shares(crops())[0], 1 - upper())


def test_an_occluder_may_give_logits(tmp_path: Path) -> None:
    tinymasks.occluder(tmp_path / "tiny.onnx")
    made = network(tmp_path, tinymasks.OCCLUDER + "logits: true\n")
    found = made.shares(crops())[0]
    assert found[0, 0] == pytest.approx(1 / (1 + np.exp(1)), abs=1e-3)


@pytest.mark.parametrize("batch", ["n", 1])
def test_a_parser_keeps_the_classes_that_are_named(tmp_path: Path, batch: int | str) -> None:
    tinymasks.parser(tmp_path / "tiny.onnx", batch)
    left = np.ones((SIDE, SIDE), np.float32)
    left[:, : SIDE // 2] = 0
    found = network(tmp_path, tinymasks.PARSER).shares(crops())
    assert found[0].all()
    assert np.array_equal(found[1], left)
    assert network(tmp_path, tinymasks.PARSER.replace("[1]", "[1, 2]")).shares(crops()).all()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("file: tiny.onnx\n", "describes no mask: it has no mask"),
        ("mask: hat\nfile: tiny.onnx\n", "mask 'hat' is none"),
        (tinymasks.OCCLUDER + "keep: [1]\n", "unknown key keep"),
        (tinymasks.PARSER.replace("[1]", "[]"), "keep"),
        (tinymasks.OCCLUDER + "shows: hand\n", "shows"),
    ],
)
def test_a_wrong_description_names_the_key(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        load_masking(tinymasks.described(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (tinymasks.OCCLUDER.replace("32", "64"), r"input crop is .*input.layout or input.side"),
        (tinymasks.OCCLUDER.replace("side: 32", "side: 32, layout: nchw"), "input.layout"),
        (tinymasks.OCCLUDER.replace("side: 32", "side: 32, name: face"), "input.name"),
        (tinymasks.OCCLUDER + "output: mask\n", "it has no output 'mask'"),
        (
            tinymasks.PARSER.replace("side: 32", "side: 32, layout: nhwc"),
            r"its output out is \[1, 32, 32, 1\].*keep",
        ),
    ],
)
def test_a_file_that_does_not_fit_names_file_and_key(tmp_path: Path, text: str, what: str) -> None:
    tinymasks.occluder(tmp_path / "tiny.onnx")
    with pytest.raises(ModelError) as raised:
        network(tmp_path, text)
    said = f"{raised.value} {raised.value.cure}".replace("\n", " ")
    assert "tiny.onnx does not fit its description" in said
    assert re.search(what, said)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"tiny\.onnx, which is not there"):
        network(tmp_path, tinymasks.OCCLUDER)


def test_both_kinds_can_be_checked_without_a_run(tmp_path: Path) -> None:
    tinymasks.occluder(tmp_path / "tiny.onnx", 1)
    checked = check(tinymasks.described(tmp_path, tinymasks.OCCLUDER))
    assert checked.kind == "mask network, occluder, template ffhq"
    assert checked.size == (SIDE, SIDE)
    assert not checked.batches
    assert checked.outputs == {"mask": ["out"]}
