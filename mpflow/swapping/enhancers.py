"""Networks that enhance faces, of one's own files by description, or of the store.

    # gfpgan.yaml                         enhance.model=gfpgan.yaml
    enhancer: gfpgan                      # or restoreformer, codeformer, super-resolution
    file: gfpgan_1.4.onnx

Restoration takes an upright crop in the FFHQ template, 512x512, RGB, (x - 127.5) / 127.5, and gives
one in the same numbers. That is what GFPGAN (inference: gfpgan/utils.py), RestoreFormer and
CodeFormer (inference_codeformer.py) are trained on, and their ONNX files keep to it: the input is
called ``input`` (facefusion, face_enhancer/core.py; harisreedhar's Face-Upscalers-ONNX), and the
picture is the first output. CodeFormer takes its weight w beside it, one float64: as ``weight``
there, as ``w`` here, as whatever is no picture in an export of one's own. What else a file gives
(CodeFormer's logits and style) is not looked at.

Super-resolution takes a crop of the same template and gives one 2 or 4 times as large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from mpflow.errors import ConfigError, ModelError
from mpflow.models.align import Template
from mpflow.models.crop_network import CropDescription, CropInput, CropNetwork, Range
from mpflow.models.description import converted, is_description, read_mapping
from mpflow.models.engines import Engines
from mpflow.models.sessions import SessionFacts, open_session
from mpflow.models.sockets import Origin, Others
from mpflow.models.store import ModelStore

SIDE = 512
"""Pixels of a side of what comes out, where a file would take any."""

_HALF = (127.5,) * 3
_NUMBERS = {"tensor(double)": np.float64, "tensor(float)": np.float32}

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Enhancer(CropDescription, frozen=True, kw_only=True, tag_field="enhancer"):
    """A description of an enhancer. ``template``: where in its crop the five points lie."""

    convention: ClassVar[Mapping[str, Any]] = {"colour": "rgb", "mean": _HALF, "std": _HALF}
    times: ClassVar[int] = 1
    whence: ClassVar[str]
    """What to bring where the file is not there."""

    range: Range = "-1..1"
    template: Template = "ffhq"

    def others(self, session: Any, origin: Origin) -> Others:
        """What it takes beside crops."""
        return Others()


class Gfpgan(Enhancer, frozen=True, kw_only=True, tag="gfpgan"):
    """GFPGAN (Wang and others, 2021), and what has the same ends: GPEN."""

    whence: ClassVar[str] = "gfpgan_1.4.onnx of facefusion's assets at GitHub"


class RestoreFormer(Enhancer, frozen=True, kw_only=True, tag="restoreformer"):
    """RestoreFormer and RestoreFormer++ (Wang and others, 2022)."""

    whence: ClassVar[str] = "restoreformer_plus_plus.onnx of facefusion's assets at GitHub"


class CodeFormer(Enhancer, frozen=True, kw_only=True, tag="codeformer"):
    """CodeFormer (Zhou and others, 2022). ``fidelity`` is its weight w: towards 0 it makes a better
    face, towards 1 one more like that which it is given; ``fidelity_input``: what the file calls
    it, "" for the only input that takes no picture."""

    whence: ClassVar[str] = "codeformer.onnx of facefusion's assets at GitHub"

    fidelity: Share = 0.5
    fidelity_input: str = ""

    def others(self, session: Any, origin: Origin) -> Others:
        """The weight, as the file has it: one number of its own kind."""
        known = {each.name: each for each in session.get_inputs()}
        plain = [name for name, each in known.items() if len(each.shape) < 2]
        name = self.fidelity_input or (plain[0] if len(plain) == 1 else "")
        if name not in known:
            raise origin.error(
                f"which input is the weight? It has: {', '.join(known)}",
                "correct fidelity_input; a file without a weight is described as gfpgan",
            )
        given = known[name]
        if given.type not in _NUMBERS or len(given.shape) > 1:
            what = f"its input {name} is {given.type} {given.shape}, not one number"
            raise origin.error(what, "correct fidelity_input")
        value = np.full((1,) * len(given.shape), self.fidelity, _NUMBERS[given.type])
        return Others(fixed={name: value})


class SuperResolution(Enhancer, frozen=True, kw_only=True, tag="super-resolution"):
    """A network that enlarges a picture by ``scale``."""

    convention: ClassVar[Mapping[str, Any]] = {"colour": "rgb", "std": (255.0,) * 3}
    whence: ClassVar[str] = "a network that enlarges pictures, as ONNX"

    range: Range = "0..1"
    scale: Literal[2, 4]

    @property
    def times(self) -> int:  # type: ignore[override]  # of this file, not of its kind
        """How much larger its pictures are than its crops."""
        return self.scale


KINDS: Mapping[str, type[Enhancer]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (Gfpgan, RestoreFormer, CodeFormer, SuperResolution)
}
_OF_STORE: Mapping[str, Enhancer] = {
    f"esrgan-slim-x{scale}": SuperResolution(
        file="", scale=scale, range="0..255", input=CropInput(colour="rgb")
    )
    for scale in (2, 4)
}


class OpenedEnhancer:
    """An enhancer with its session: ``template`` and ``side`` of its crops, ``times`` how much
    larger its pictures are. Raises ModelError where the file does not fit."""

    def __init__(
        self, session: Any, described: Enhancer, origin: Origin, size: int = SIDE, *, most: int = 2
    ) -> None:
        self.template = described.template
        self.times = described.times
        others = described.others(session, origin)
        self.network = CropNetwork(
            session,
            _sized(described, session, size),
            origin,
            scale=self.times,
            others=others,
            most=most,
        )
        self.side = self.network.side


def load_enhancer(path: Path) -> Enhancer:
    """Read the description of an enhancer; raises ConfigError that names the key and the cure."""
    data = read_mapping(path)
    kind = KINDS.get(str(data.get("enhancer")))
    if kind is None:
        said = f"enhancer {data['enhancer']!r} is none" if "enhancer" in data else "it has none"
        raise ConfigError(
            f"{path} describes no enhancer: {said}", cure=f"known: {', '.join(KINDS)}"
        )
    return converted(path, data, kind, kind.convention)


def found(described: Enhancer, path: Path) -> Path:
    """The described file; where it is not there, the error says what to bring."""
    try:
        return described.found(path)
    except ModelError as error:
        if (path.absolute().parent / Path(described.file).expanduser()).is_file():
            raise
        cure = f"bring {described.whence}, mind its licence, and say in `file` where it is"
        raise ModelError(error.what, cure=cure) from error


def open_enhancer(  # noqa: PLR0913 - one name for each choice
    model: str,
    store: ModelStore,
    *,
    size: int = SIDE,
    most: int = 1,
    device: str = "auto",
    providers: tuple[str, ...] = (),
    threads: int = 1,
    warn: Callable[[str], None] | None = None,
    told: Callable[[str], None] | None = None,
) -> tuple[OpenedEnhancer, SessionFacts]:
    """The enhancer ``model``, a description or a name of the manifest, and how it runs.

    ``size``: of what comes out where the file takes any; at ``most`` so many crops come in one
    call. Raises ConfigError for a model that is none and for a wrong description; ModelError for a
    file that cannot be had or does not fit.
    """
    if is_description(model):
        described = load_enhancer(Path(model))
        file = found(described, Path(model))
    else:
        described = _OF_STORE[_known(model)]
        file = store.path(model, told)
    side = described.input.side or size // described.times
    session, facts = open_session(
        file,
        device=device,
        providers=providers,
        threads=threads,
        warn=warn,
        engines=Engines.for_pictures(store.cache_dir / "engines", most, side, side, side),
    )
    return OpenedEnhancer(session, described, Origin(model, file), size, most=most), facts


def _known(model: str) -> str:
    if model not in _OF_STORE:
        raise ConfigError(
            f"{model!r} is no enhancer" if model else "no enhancer is named",
            cure="bring a file of GFPGAN, CodeFormer or RestoreFormer and name its description "
            f"(docs/models.md): model=gfpgan.yaml; or, no better than bicubic, "
            f"{' or '.join(_OF_STORE)}",
        )
    return model


def _sized(described: Enhancer, session: Any, size: int) -> Enhancer:
    """With a side for the crop, where neither the file nor the description has one."""
    pictures = [each.shape for each in session.get_inputs() if len(each.shape) == 4]
    if described.input.side or any(isinstance(each[2], int) for each in pictures):
        return described
    return replace(described, input=replace(described.input, side=size // described.times))
