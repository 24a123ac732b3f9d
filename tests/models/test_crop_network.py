"""Crops through generated networks whose pictures are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import tinynets
from numpy.typing import NDArray

from mpflow.errors import ModelError
from mpflow.models.crop_network import CropDescription, CropNetwork, Crops
from mpflow.models.detections import Floats
from mpflow.models.sessions import open_session
from mpflow.models.sockets import Origin, Others

RNG = np.random.default_rng(3)
SIDE = 8
HALF = {"mean": (127.5,) * 3, "std": (127.5,) * 3}
IMAGENET = {"mean": (123.675, 116.28, 103.53), "std": (58.395, 57.12, 57.375)}


def net(sides: tuple[int, int] | None = (SIDE, SIDE), batch: int | str = "n") -> tinynets.Net:
    return tinynets.Net(tinynets.Trained(), sides, batch)


def opened(file: tinynets.Net, folder: Path, **keys: Any) -> CropNetwork:
    others, scale = keys.pop("others", Others()), keys.pop("scale", 1)
    given = {"colour": "rgb", **keys.pop("input", {})}
    data = {"file": "net.onnx", "input": given, **keys}
    described = msgspec.convert(data, CropDescription)
    path = file.save(folder / "net.onnx")
    origin = Origin(folder / "net.yaml", path)
    session = open_session(path, device="cpu")[0]
    return CropNetwork(session, described, origin, others=others, scale=scale)


def crops(count: int = 3, side: int = SIDE) -> Crops:
    return RNG.integers(0, 256, (count, side, side, 3), np.uint8)


@pytest.mark.parametrize(
    ("pixels", "reach"),
    [
        ({"std": (255.0,) * 3}, "0..1"),
        (HALF, "-1..1"),
        ({}, "0..255"),
        (IMAGENET, "input"),
        ({"colour": "bgr", **HALF}, "-1..1"),
    ],
)
@pytest.mark.parametrize("batch", ["n", 1])
def test_what_the_network_leaves_alone_comes_back_as_it_was(
    tmp_path: Path, pixels: dict[str, Any], reach: str, batch: int | str
) -> None:
    same = net(batch=batch)
    same.output("picture", "out")
    model = opened(same, tmp_path, input=pixels, range=reach)
    assert (model.side, model.made, model.network.single) == (SIDE, SIDE, batch == 1)
    given = crops()
    pictures, masks = model.run(given)
    np.testing.assert_array_equal(pictures, given)
    assert masks is None
    assert len(model.run(given[:0])[0]) == 0


def test_the_first_channel_is_red_or_blue_as_described(tmp_path: Path) -> None:
    first = net()
    first.output(first.node("Mul", ["picture", first.constant(channel(1, 0, 0))]), "out")
    for colour, kept in (("rgb", 2), ("bgr", 0)):
        model = opened(first, tmp_path, input={"colour": colour, "std": (255.0,) * 3})
        given = crops()
        pictures, _ = model.run(given)
        np.testing.assert_array_equal(pictures[..., kept], given[..., kept])
        assert pictures.sum() == given[..., kept].sum()


def channel(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32).reshape(1, 3, 1, 1)


def test_what_is_out_of_range_is_black_or_white(tmp_path: Path) -> None:
    loud = net()
    loud.output(loud.node("Mul", ["picture", loud.constant(np.float32(4))]), "out")
    given = crops()
    pictures, _ = opened(loud, tmp_path, input=HALF, range="-1..1").run(given)
    wanted = np.clip(np.rint((given.astype(float) - 127.5) * 4 + 127.5), 0, 255)
    assert np.abs(pictures - wanted).max() <= 1


def test_a_mask_comes_with_the_picture_where_one_is_named(tmp_path: Path) -> None:
    both = net()
    both.output("picture", "made")
    weights = both.constant(channel(0.0, 1.0, 0.0))
    both.output(both.node("Conv", ["picture", weights], kernel_shape=[1, 1]), "good")
    given = crops()
    keys: dict[str, Any] = {"input": {"std": (255.0,) * 3}}
    named = opened(both, tmp_path, **keys, outputs={"mask": "good"})
    np.testing.assert_array_equal(named.run(given)[1], given[..., 1])
    assert opened(both, tmp_path, **keys).run(given)[1] is None


def test_pictures_may_be_larger_than_crops(tmp_path: Path) -> None:
    twice = net(sides=None)
    sizes = twice.constant(np.array([1, 1, 2, 2], np.float32))
    twice.output(twice.node("Resize", ["picture", "", sizes], mode="nearest"), "out")
    keys: dict[str, Any] = {"input": {"std": (255.0,) * 3, "side": SIDE}, "scale": 2}
    model = opened(twice, tmp_path, **keys)
    given = crops()
    assert model.made == 2 * SIDE
    np.testing.assert_array_equal(model.run(given)[0][:, ::2, ::2], given)
    with pytest.raises(ModelError, match=r"picture \[3, 8, 8\].*out \[2, 3, 16, 16\]"):
        opened(twice, tmp_path, input=keys["input"])


def test_what_belongs_to_a_crop_goes_with_it_and_what_is_fixed_with_every_call(
    tmp_path: Path,
) -> None:
    for batch in ("n", 1):
        plus = lit(batch, "light")
        plus.more_inputs.append("gain")
        plus.output(plus.node("Mul", [plus.lit, "gain"]), "brighter")
        others = Others({"light": np.zeros((1, 1), np.float32)}, {"gain": np.ones(1, np.float32)})
        keys = {"input": {"std": (255.0,) * 3}, "outputs": {"picture": "brighter"}}
        model = opened(plus, tmp_path, **keys, others=others)
        given = crops() // 2
        lights = np.array([[0], [40], [80]], np.float32)
        pictures, _ = model.run(given, {"light": lights / 255})
        np.testing.assert_array_equal(pictures, given + lights.astype(np.uint8)[:, :, None, None])


class Lit(tinynets.Net):
    """A network that adds what it is given to the whole picture: ``lit``."""

    lit: str


def lit(batch: int | str, name: str, *, first_only: bool = False) -> Lit:
    made = Lit(tinynets.Trained(), (SIDE, SIDE), batch)
    made.each_inputs[name] = 1
    light = made.node("Reshape", [name, made.constant(np.array([-1, 1, 1, 1], np.int64))])
    if first_only:
        ends = [made.constant(np.array([each], np.int64)) for each in (0, 1, 0)]
        light = made.node("Slice", [light, *ends])
    made.lit = made.node("Add", ["picture", light])
    made.output(made.lit, "out")
    return made


def test_a_file_that_gives_all_crops_what_belongs_to_the_first_is_fed_one_at_a_time(
    tmp_path: Path,
) -> None:
    example = Others({"light": np.full((1, 1), 0.1, np.float32)})
    lights: Floats = np.array([[0], [100]], np.float32) / 255
    for first_only in (False, True):
        file = lit("n", "light", first_only=first_only)
        model = opened(file, tmp_path, input={"std": (255.0,) * 3}, others=example)
        assert model.network.single is first_only
        given = crops(2) // 2
        pictures, _ = model.run(given, {"light": lights})
        np.testing.assert_array_equal(pictures[1], given[1] + 100)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"input": {"side": 16}}, r"8x8, input\.side is 16.*correct input\.side"),
        ({"input": {"name": "target"}}, r"no input 'target'.*picture.*input\.name"),
        ({"others": Others({"who": np.ones((1, 4), np.float32)})}, "does not run"),
        ({"outputs": {"picture": "made"}}, r"no output 'made'.*outputs\.picture"),
        ({"outputs": {"mask": "out"}}, r"mask \[1, 8, 8\]"),
    ],
)
def test_a_file_that_does_not_fit_is_named_with_the_key(
    tmp_path: Path, keys: dict[str, Any], said: str
) -> None:
    same = net()
    same.output("picture", "out")
    with pytest.raises(ModelError, match=rf"(?s)net\.onnx.*net\.yaml.*{said}"):
        opened(same, tmp_path, **keys)


def test_files_of_other_forms_are_named(tmp_path: Path) -> None:
    wide = net((16, 8))
    wide.output("picture", "out")
    with pytest.raises(ModelError, match="16x8, no square"):
        opened(wide, tmp_path)
    free = net(None)
    free.output("picture", "out")
    with pytest.raises(ModelError, match=r"any size.*input\.side"):
        opened(free, tmp_path)
    hungry = lit("n", "light")
    with pytest.raises(ModelError, match="nothing is known of its inputs light"):
        opened(hungry, tmp_path, input={"name": "picture"})
