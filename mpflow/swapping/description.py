"""A swapper of one's own file, described: where it is, what it takes, how its picture reads.

    # simswap.yaml                        swap.model=simswap.yaml
    swapper: simswap                      # a make, whose conventions hold for all else
    file: simswap_256.onnx
    embedding: {converter: crossface_simswap.onnx}

The source comes in as numbers (``embedding``) or as a picture (``source``), never as both.

Conventions are those of the authors' own code: INSwapper (insightface, model_zoo/inswapper.py),
SimSwap (Chen, Chen, Ni, Ge: "SimSwap", 2020; test_video_swapsingle.py: ImageNet's mean and
deviation for the identity, an embedding of length 1; models/fs_networks.py: a picture of 0..1),
GHOST (Groshev and others: "GHOST", 2022; utils/inference/faceshifter_run.py: -1..1, an embedding as
the network gives it), UniFace (Xu and others: "Designing One Unified Framework for High-Fidelity
Face Reenactment and Swapping", 2022; generate_swap.py: -1..1). Names of inputs, sizes and
converters are those of the exports that FaceFusion hands out (processors/modules/face_swapper),
for which there is no other description than its code; there simswap_256 takes ImageNet's statistics
for the crop, too, and uniface_256 a source of 0..1.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mpflow.errors import ConfigError
from mpflow.models.align import CROP, Template
from mpflow.models.crop_network import CropDescription
from mpflow.models.description import Pixels, Side, Strict, converted, read_mapping

Projection: TypeAlias = Literal["none", "emap", "converter"]

_UNIT = {"name": "target", "colour": "rgb", "std": (255.0,) * 3}
_HALF = {"name": "target", "colour": "rgb", "mean": (127.5,) * 3, "std": (127.5,) * 3}
_IMAGENET = {
    "name": "target",
    "colour": "rgb",
    "mean": (0.485 * 255, 0.456 * 255, 0.406 * 255),
    "std": (0.229 * 255, 0.224 * 255, 0.225 * 255),
}
_MERGED = ("input", "embedding", "source")

MAKES: Mapping[str, Mapping[str, Any]] = {
    "inswapper": {
        "template": "arcface-128",
        "input": _UNIT,
        "embedding": {"projection": "emap"},
    },
    "simswap": {
        "template": "arcface-v1",
        "input": _IMAGENET,
        "embedding": {"projection": "converter"},
    },
    "ghost": {
        "template": "arcface-v1",
        "input": _HALF,
        "range": "-1..1",
        "embedding": {"projection": "converter", "normalised": False},
    },
    "hyperswap": {"template": "arcface-128", "input": _HALF, "range": "-1..1", "embedding": {}},
    "uniface": {
        "template": "ffhq",
        "input": _HALF,
        "range": "-1..1",
        "source": {"template": "ffhq", "side": 256, "colour": "rgb", "std": (255.0,) * 3},
    },
    "blendswap": {
        "template": "ffhq",
        "input": _UNIT,
        "source": {"template": "arcface", "side": CROP, "colour": "rgb", "std": (255.0,) * 3},
    },
    "other": {},
}
"""By make, what holds unless a description says otherwise."""


class Embedding(Strict, frozen=True):
    """The source as numbers.

    ``name``: the input that takes them. ``model``: what makes them of a photo: an ArcFace file,
    found from the folder of the description, an embedder of the manifest, or insightface:PACK; ""
    is the w600k_r50.onnx of insightface's pack buffalo_l, beside the swapper's file or in the pack.
    ``projection``: nothing, the matrix in the swapper's file (INSwapper's emap), or the file
    ``converter``. ``normalised``: whether what goes in then has length 1.
    """

    name: str = "source"
    model: str = ""
    projection: Projection = "none"
    converter: str = ""
    normalised: bool = True

    def __post_init__(self) -> None:
        if self.projection == "converter" and not self.converter:
            raise ValueError("converter must name the file that projection speaks of")
        if self.converter and self.projection != "converter":
            raise ValueError("a converter needs projection: converter")


class SourcePicture(Pixels, frozen=True, kw_only=True):
    """The source as a picture: its crop of ``side`` pixels by ``template``."""

    name: str = "source"
    side: Side
    template: Template


class Swapping(CropDescription, frozen=True, kw_only=True):
    """A description of a swapper; ``template`` is where the points of a target lie in its crop."""

    swapper: str
    template: Template
    embedding: Embedding | None = None
    source: SourcePicture | None = None

    def __post_init__(self) -> None:
        if (self.embedding is None) == (self.source is None):
            raise ValueError("one of embedding and source must be there, and only one")


def load_swapper(path: Path) -> Swapping:
    """Read the description of a swapper; ConfigError that names the key and the cure."""
    return _swapping(path, read_mapping(path))


def inswapper(file: Path) -> Swapping:
    """The description that an INSwapper file needs not have."""
    return _swapping(file, {"swapper": "inswapper", "file": file.name})


def _swapping(path: Path, data: dict[str, Any]) -> Swapping:
    make = MAKES.get(str(data.get("swapper")))
    if make is None:
        said = f"swapper {data['swapper']!r} is none" if "swapper" in data else "it has no swapper"
        raise ConfigError(f"{path} describes no swapper: {said}", cure=f"known: {', '.join(MAKES)}")
    filled = {**make, **data}
    for key in _MERGED:
        usual, given = make.get(key), data.get(key)
        if isinstance(usual, Mapping) and isinstance(given, dict):
            filled[key] = {**usual, **given}
    return converted(path, filled, Swapping, {})
