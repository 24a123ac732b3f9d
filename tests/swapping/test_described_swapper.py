"""Swappers by description, and INSwapper without one: generated files whose answer is known."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest
import tinyswappers
import yaml
from click.testing import CliRunner
from numpy.typing import NDArray

from mpflow.cli import cli
from mpflow.errors import ConfigError, ModelError
from mpflow.models.align import CROP, TEMPLATES, Template, crop, cut, matrix_to
from mpflow.models.embedders import open_embedder
from mpflow.models.store import ModelStore
from mpflow.swapping.contract import Made, Photo, Source, Target
from mpflow.swapping.described import DescribedSwapper, open_swapper

SIDE = 16
RNG = np.random.default_rng(2)
EMAP = RNG.normal(0, 1, (6, 5)).astype(np.float32)
BIAS = RNG.normal(0, 1, 6).astype(np.float32)
NO_MESH = np.zeros((468, 3), np.float32)


def opened(
    folder: Path, path: Path | None = None, store: ModelStore | None = None, **keys: Any
) -> DescribedSwapper:
    """The swapper net.onnx by a description of these keys, or a bare file."""
    tinyswappers.embedder(folder / "w600k_r50.onnx")
    if path is None:
        path = folder / "net.yaml"
        path.write_text(yaml.safe_dump({"file": "net.onnx", **keys}))
    store = store or ModelStore(folder, offline=True)
    swapper, facts = open_swapper(path, store, device="cpu")
    assert facts.device == "cpu"
    return swapper


def photo(colour: Sequence[int], template: Template = "arcface", size: int = 200) -> Photo:
    """A photo of one colour with a face somewhere in it."""
    picture = np.full((size, size, 3), colour, np.uint8)
    points = (TEMPLATES[template] * size * 0.8 + size * 0.1).astype(np.float32)
    return Photo(picture, points, NO_MESH, (0.0, 0.0, 0.0))


def source(*colours: Sequence[int]) -> Source:
    return Source(tuple(photo(each) for each in colours))


def targets(swapper: DescribedSwapper, count: int = 3) -> list[Target]:
    side = swapper.size
    crops = RNG.integers(0, 256, (count, side, side, 3), np.uint8)
    points = (TEMPLATES[swapper.template] * side).astype(np.float32)
    matrix = np.eye(2, 3, dtype=np.float32)
    return [Target(each, matrix, points, None, None) for each in crops]


def raw(*colours: Sequence[int]) -> NDArray[np.float64]:
    """What the generated embedder makes of photos of these colours, BGR; their mean."""
    rgb = (np.array(colours, float)[:, ::-1] - 127.5) / 127.5
    found: NDArray[np.float64] = (rgb @ tinyswappers.FEATURES).mean(axis=0)
    return found


def one(numbers: NDArray[Any]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = numbers / np.linalg.norm(numbers)
    return found


def check(made: Made | None, target: Target, colour: NDArray[Any]) -> None:
    """The target at the left; at the right a colour, RGB as it is before it is cut to 0..255."""
    assert made is not None
    half = target.crop.shape[1] // 2
    assert made.picture.dtype == np.uint8
    np.testing.assert_array_equal(made.picture[:, :half], target.crop[:, :half])
    wanted = np.clip(np.rint(colour[::-1]), 0, 255)
    assert np.abs(made.picture[:, half:] - wanted).max() <= 1
    assert (made.mask == 255).all()
    assert made.mask.shape == target.crop.shape[:2]


RED, GREY, BLUE = (20, 60, 230), (90, 100, 80), (250, 120, 10)


@pytest.mark.parametrize("batch", ["n", 1])
def test_an_inswapper_file_needs_no_description(tmp_path: Path, batch: int | str) -> None:
    path = tmp_path / "inswapper_128.onnx"
    tinyswappers.swapper(path, 128, source=5, batch=batch, emap=EMAP)
    swapper = opened(tmp_path, path)
    assert (swapper.template, swapper.size, swapper.photo) == ("arcface-128", 128, ("arcface", 112))
    assert swapper.network.network.single is (batch == 1)
    people = [source(RED), source(GREY), source(BLUE)]
    prepared = [swapper.prepare(each) for each in people]
    faces = targets(swapper)
    for face, made, colour in zip(
        faces, swapper.swap(faces, prepared), (RED, GREY, BLUE), strict=True
    ):
        check(made, face, 255 * one(one(raw(colour)) @ EMAP)[:3])
    assert swapper.swap([], []) == []


@pytest.mark.filterwarnings("ignore")
def test_an_inswapper_face_is_that_which_insightface_makes(tmp_path: Path) -> None:
    """A network of random numbers, from the same picture, points and embedding."""
    pytest.importorskip("insightface", reason="pip install 'mpflow-pipeline[insightface]'")
    from insightface.model_zoo.inswapper import INSwapper

    path = tmp_path / "inswapper_128.onnx"
    tinyswappers.swapper(path, 128, source=5, batch=1, emap=EMAP, spread=(0.9, 0.8, 1.1))
    swapper = opened(tmp_path, path)
    seen = photo((0, 0, 0), size=300)
    seen.picture[:] = cv2.resize(RNG.integers(0, 256, (20, 20, 3), np.uint8), (300, 300))
    points = seen.points + RNG.normal(0, 4, (5, 2)).astype(np.float32)
    numbers = one(raw(BLUE)).astype(np.float32)
    target, giver = SimpleNamespace(kps=points), SimpleNamespace(normed_embedding=numbers)
    theirs, matrix = INSwapper(str(path)).get(seen.picture, target, giver, paste_back=False)
    np.testing.assert_allclose(matrix, matrix_to(points, "arcface-128", 128), atol=1e-3)
    crops = cv2.warpAffine(seen.picture, matrix, (128, 128)).astype(np.uint8)
    ours = swapper.swap(
        [Target(crops, matrix.astype(np.float32), points, None, None)],
        [swapper.prepare(source(BLUE))],
    )[0]
    assert ours is not None
    assert np.abs(ours.picture.astype(int) - theirs).max() <= 1  # theirs is cut, not rounded


def test_several_faces_go_through_in_one_call(tmp_path: Path) -> None:
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE, source=5, emap=EMAP)
    swapper = opened(tmp_path, swapper="inswapper")
    calls = []
    session = swapper.network.network._session

    class Counting:
        def run(self, names: Any, given: dict[str, Any]) -> Any:
            calls.append(len(given["target"]))
            return session.run(names, given)

    swapper.network.network._session = Counting()
    swapper.swap(targets(swapper, 11), [swapper.prepare(source(RED))] * 11)
    assert calls == [8, 3]


def test_photos_of_a_person_count_together(tmp_path: Path) -> None:
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE, source=6)
    swapper = opened(
        tmp_path, swapper="hyperswap", range="0..1", input={"std": [255.0] * 3, "mean": [0.0] * 3}
    )
    (face,) = targets(swapper, 1)
    (made,) = swapper.swap([face], [swapper.prepare(source(RED, BLUE))])
    check(made, face, 255 * one(raw(RED, BLUE))[:3])


IMAGENET = {"spread": (0.229, 0.224, 0.225), "zero": (0.485, 0.456, 0.406)}


def test_simswap_takes_a_converted_embedding_of_length_one_and_imagenets_statistics(
    tmp_path: Path,
) -> None:
    tinyswappers.converter(tmp_path / "crossface.onnx", BIAS)
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE, **IMAGENET)
    swapper = opened(tmp_path, swapper="simswap", embedding={"converter": "crossface.onnx"})
    assert swapper.template == "arcface-v1"
    faces = targets(swapper, 2)
    prepared = [swapper.prepare(source(each)) for each in (RED, BLUE)]
    for face, made, colour in zip(faces, swapper.swap(faces, prepared), (RED, BLUE), strict=True):
        check(made, face, 255 * one(raw(colour) + BIAS)[:3])
    assert [swapper.files[role].name for role in ("swapper", "embedder", "converter")] == [
        "net.onnx",
        "w600k_r50.onnx",
        "crossface.onnx",
    ]


def test_statistics_of_the_input_may_be_those_of_the_output(tmp_path: Path) -> None:
    tinyswappers.converter(tmp_path / "crossface.onnx", BIAS)
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE)
    keys: dict[str, Any] = {"embedding": {"converter": "crossface.onnx"}, "range": "input"}
    swapper = opened(tmp_path, swapper="simswap", **keys)
    (face,) = targets(swapper, 1)
    (made,) = swapper.swap([face], [swapper.prepare(source(RED))])
    colour = one(raw(RED) + BIAS)[:3] * IMAGENET["spread"] + IMAGENET["zero"]
    check(made, face, 255 * colour)


def test_ghost_takes_a_converted_embedding_as_it_is(tmp_path: Path) -> None:
    small = BIAS / 10
    tinyswappers.converter(tmp_path / "crossface.onnx", small)
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE)
    swapper = opened(tmp_path, swapper="ghost", embedding={"converter": "crossface.onnx"})
    assert swapper.template == "arcface-v1"
    (face,) = targets(swapper, 1)
    (made,) = swapper.swap([face], [swapper.prepare(source(GREY))])
    check(made, face, 127.5 * (raw(GREY) + small)[:3] + 127.5)


@pytest.mark.parametrize(("template", "hit"), [("arcface-v1", True), ("arcface", False)])
def test_the_older_template_puts_the_mouth_where_the_network_looks(
    tmp_path: Path, template: Template, hit: bool
) -> None:
    """A face is marked at the corner of its mouth, cut as the swapper asks, and the network says
    what it sees where the older template has that corner; by the newer one it sees beside it."""
    x, y = np.rint(TEMPLATES["arcface-v1"][3] * 64).astype(int).tolist()
    tinyswappers.swapper(
        tmp_path / "net.onnx", 64, source=6, seen=(x, y), spread=(0.5,) * 3, zero=(0.5,) * 3
    )
    keys: dict[str, Any] = {"range": "0..1", "template": template}
    keys["embedding"] = {"projection": "none"}
    swapper = opened(tmp_path, swapper="ghost", **keys)
    face = photo((0, 0, 0), "arcface-v1", 400)
    corner = np.rint(face.points[3]).astype(int)
    face.picture[corner[1] - 8 : corner[1] + 9, corner[0] - 8 : corner[0] + 9] = (0, 255, 0)
    seen = cut(face.picture, face.points, swapper.template, swapper.size)
    matrix = matrix_to(face.points, swapper.template, swapper.size)
    points = (TEMPLATES[template] * 64).astype(np.float32)
    target = Target(seen, matrix, points, None, None)
    (made,) = swapper.swap([target], [swapper.prepare(source(RED))])
    assert made is not None
    assert (made.picture[:, 32:] == (0, 255, 0)).all() == hit


def test_uniface_takes_the_source_as_a_picture(tmp_path: Path) -> None:
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE, source=(3, 32, 32))
    swapper = opened(tmp_path, swapper="uniface", source={"side": 32})
    assert (swapper.template, swapper.photo) == ("ffhq", ("ffhq", 32))
    sharp = photo((0, 0, 0), "ffhq", 400)
    sharp.picture[:] = RNG.integers(0, 256, sharp.picture.shape, np.uint8)
    people = [Source((sharp, photo(RED, "ffhq"))), source(BLUE)]
    prepared = [swapper.prepare(each) for each in people]
    assert prepared[0].shape == (3, 32, 32)
    faces = targets(swapper, 2)
    made = swapper.swap(faces, prepared)
    seen = cut(sharp.picture, sharp.points, "ffhq", 32).mean(axis=(0, 1))[::-1]
    check(made[0], faces[0], seen / 2 + 127.5)  # 0..1 goes in, -1..1 comes out
    check(made[1], faces[1], np.array(BLUE[::-1]) / 2 + 127.5)


def test_a_source_picture_is_of_the_first_photo_that_is_large_enough(tmp_path: Path) -> None:
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE, source=(3, 32, 32))
    swapper = opened(tmp_path, swapper="uniface", source={"side": 32})
    small = photo(RED, "ffhq", 20)
    found = swapper.prepare(Source((small, photo(BLUE, "ffhq"))))
    np.testing.assert_allclose(found.mean(axis=(1, 2)), np.array(BLUE[::-1]) / 255, atol=1e-3)
    with pytest.raises(ConfigError, match=r"enlarged 2\.0 times to fill the crop of 32 pixels"):
        swapper.prepare(Source((small,)))


def test_a_mask_of_the_network_is_the_made_faces(tmp_path: Path) -> None:
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE, mask=True)
    keys: dict[str, Any] = {"input": {"mean": [0.0] * 3, "std": [255.0] * 3}, "range": "0..1"}
    swapper = opened(tmp_path, swapper="hyperswap", outputs={"mask": "good"}, **keys)
    (face,) = targets(swapper, 1)
    (made,) = swapper.swap([face], [swapper.prepare(source(RED))])
    assert made is not None
    np.testing.assert_array_equal(made.mask, face.crop[..., 2])


def test_any_other_swapper_is_described_key_by_key(tmp_path: Path, model_store: ModelStore) -> None:
    """A make of nobody's: BGR, an embedder of the manifest, no projection, raw."""
    tinyswappers.swapper(tmp_path / "mine.onnx", 24, source=128)
    path = tmp_path / "mine.yaml"
    path.write_text(
        "swapper: other\nfile: mine.onnx\ntemplate: arcface\n"
        "input: {name: target, colour: bgr, std: [255, 255, 255], side: 24}\n"
        "embedding: {name: source, model: sface, normalised: true}\n"
    )
    swapper, _ = open_swapper(path, model_store, device="cpu")
    face = photo(RED)
    face.picture[:] = RNG.integers(0, 256, face.picture.shape, np.uint8)
    numbers = swapper.prepare(Source((face,)))
    seen = crop(face.picture, face.points)
    sface, _ = open_embedder("sface", model_store, device="cpu")
    np.testing.assert_allclose(numbers, sface.embed([seen])[0], atol=1e-5)
    (target,) = targets(swapper, 1)
    (made,) = swapper.swap([target], [numbers])
    assert made is not None
    wanted = np.clip(np.rint(255 * numbers[:3]), 0, 255)
    assert np.abs(made.picture[:, 12:] - wanted).max() <= 1


GOOD: dict[str, Any] = {"swapper": "inswapper"}
WITH: dict[str, Any] = {"swapper": "ghost", "embedding": {"converter": "crossface.onnx"}}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"swapper": "deepfake"}, "'deepfake' is none.*known: inswapper, simswap"),
        ({}, "it has no swapper"),
        ({**GOOD, "template": "arcface_112_v1"}, "template.*arcface-v1"),
        ({**GOOD, "imput": {}}, "unknown key imput.*did you mean input"),
        ({**GOOD, "range": "0..2"}, r"range.*0\.\.2"),
        ({**GOOD, "source": {"side": 3}}, r"source\.colour|embedding and source"),
        ({"swapper": "simswap"}, "converter must name the file"),
        ({**GOOD, "embedding": {"converter": "crossface.onnx"}}, "projection: converter"),
        ({**GOOD, "file": "gone.onnx"}, r"gone\.onnx.*not there.*`file`"),
        ({**GOOD, "embedding": {"model": "gone.onnx"}}, r"gone\.onnx.*`embedding\.model`"),
        ({**WITH, "embedding": {"converter": "gone.onnx"}}, r"gone\.onnx.*`embedding\.converter`"),
        ({**GOOD, "embedding": {"model": "yunet"}}, "'yunet' is no embedder"),
        ({**GOOD, "embedding": {"model": "net.onnx"}}, r"net\.onnx.*several inputs|no ArcFace"),
        ({**GOOD, "embedding": {"name": "face"}}, r"no input 'face'.*embedding\.name"),
        ({**GOOD, "input": {"name": "face"}}, r"no input 'face'.*input\.name"),
        ({**GOOD, "input": {"side": 128}}, r"16x16, input\.side is 128"),
        (
            {**GOOD, "embedding": {"projection": "none"}},
            r"takes 5 numbers, w600k_r50\.onnx gives 6",
        ),
        (WITH, r"takes 5 numbers, w600k_r50\.onnx by its converter gives 6.*embedding\."),
        ({**WITH, "embedding": {"converter": "other.onnx"}}, r"other\.onnx takes 7.*gives 6"),
        ({"swapper": "uniface"}, r"source is tensor\(float\).*not float32 pictures.*source\.name"),
    ],
)
def test_what_does_not_fit_names_the_file_and_the_key(
    tmp_path: Path, model_store: ModelStore, keys: dict[str, Any], said: str
) -> None:
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE, source=5, emap=EMAP)
    tinyswappers.converter(tmp_path / "crossface.onnx", BIAS)
    tinyswappers.converter(tmp_path / "other.onnx", np.zeros(7, np.float32))
    with pytest.raises((ConfigError, ModelError), match=rf"(?s){said}") as caught:
        opened(tmp_path, store=model_store, **keys)
    assert "net" in str(caught.value) or "yunet" in str(caught.value)


def test_files_that_are_no_inswapper_are_named(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    tinyswappers.swapper(path, SIDE, source=5)
    with pytest.raises(ModelError, match=r"net\.onnx does not fit .*INSwapper.*matrix"):
        opened(tmp_path, path)
    tinyswappers.swapper(path, SIDE, source=5, emap=EMAP[:4])
    with pytest.raises(ModelError, match=r"emap takes 4 numbers, w600k_r50\.onnx gives 6"):
        opened(tmp_path, path)
    tinyswappers.swapper(path, SIDE, source=(3, 32, 32), emap=EMAP)
    with pytest.raises(ModelError, match="not float32 rows of numbers"):
        opened(tmp_path, path)
    with pytest.raises(ModelError, match="there is no model file"):
        opened(tmp_path, tmp_path / "gone.onnx")


def test_without_its_embedder_an_inswapper_file_says_what_to_bring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "insightface", None)
    path = tmp_path / "net.onnx"
    tinyswappers.swapper(path, SIDE, source=5, emap=EMAP)
    store = ModelStore(tmp_path, offline=True)
    with pytest.raises(ModelError, match=r"net\.onnx takes the embeddings of w600k_r50") as caught:
        open_swapper(path, store, device="cpu")
    assert "put w600k_r50.onnx of insightface's pack buffalo_l beside it" in caught.value.cure
    pack = tmp_path / ".insightface/models/buffalo_l"
    pack.mkdir(parents=True)
    tinyswappers.embedder(pack / "w600k_r50.onnx")
    swapper, _ = open_swapper(path, store, device="cpu")
    assert swapper.files["embedder"] == pack / "w600k_r50.onnx"


def test_a_source_picture_of_another_size_is_named(tmp_path: Path) -> None:
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE, source=(3, 32, 32))
    with pytest.raises(ModelError, match=r"source\.side is 256.*correct source\.side"):
        opened(tmp_path, swapper="uniface")


def test_a_photo_without_an_embedding_is_refused(tmp_path: Path) -> None:
    """Half black, half white: to the generated embedder, nothing at all."""
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE, source=5, emap=EMAP)
    swapper = opened(tmp_path, swapper="inswapper")
    face = photo((0, 0, 0), size=CROP)
    face.picture[CROP // 2 :] = 255
    nobody = replace(face, points=(TEMPLATES["arcface"] * CROP).astype(np.float32))
    with pytest.raises(ConfigError, match=r"no embedding.*another photo"):
        swapper.prepare(Source((nobody,)))


def test_the_crop_of_an_embedder_is_its_own_whatever_the_swapper_takes(tmp_path: Path) -> None:
    """The embedder sees the ArcFace crop, the swapper its own template."""
    tinyswappers.swapper(tmp_path / "net.onnx", SIDE, source=5, emap=EMAP)
    swapper = opened(tmp_path, swapper="inswapper", template="ffhq")
    face = photo((0, 0, 0), "arcface", 400)
    face.picture[:] = RNG.integers(0, 256, face.picture.shape, np.uint8)
    mean = crop(face.picture, face.points, CROP).mean(axis=(0, 1))[::-1]
    numbers = ((mean - 127.5) / 127.5) @ tinyswappers.FEATURES
    np.testing.assert_allclose(
        swapper.prepare(Source((face,))), one(one(numbers) @ EMAP), atol=1e-4
    )


@pytest.mark.parametrize("bare", [False, True])
def test_a_check_says_what_a_swapper_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare: bool
) -> None:
    monkeypatch.setenv("MPFLOW_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "net.onnx"
    tinyswappers.swapper(path, SIDE, source=5, emap=EMAP)
    tinyswappers.embedder(tmp_path / "w600k_r50.onnx")
    if not bare:
        path = tmp_path / "net.yaml"
        path.write_text("swapper: inswapper\nfile: net.onnx\n")
    said = CliRunner().invoke(cli, ["models", "check", str(path)])
    assert said.exit_code == 0, said.output
    for words in ("swapper, inswapper", "arcface-128", "16x16 only, in batches", "w600k_r50.onnx"):
        assert words in said.output
    told = json.loads(CliRunner().invoke(cli, ["models", "check", str(path), "--json"]).output)
    assert told["outputs"]["picture"] == ["made"]
    assert told["size"] == [SIDE, SIDE]
