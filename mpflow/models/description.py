"""A model of one's own, described in a file: where it is, what it takes, how its outputs read.

    # scrfd.yaml                          detect.model=scrfd.yaml
    decoder: scrfd
    file: scrfd_10g_bnkps.onnx            # found from this file's own folder
    input: {size: 640x640}                # all else as networks of this make are trained

Read strictly: an unknown key is an error that names it. What a description leaves out is taken
from its make's conventions (mpflow.models.makes); what the file then does not keep to is found
when it is loaded (mpflow.models.fitting), before any frame.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
import yaml

from mpflow.errors import ConfigError, ModelError
from mpflow.models.fetch import sha256_of
from mpflow.models.manifest import Sha256
from mpflow.models.wording import in_words

Three: TypeAlias = tuple[float, float, float]
Side: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=4096)]
Share: TypeAlias = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Names: TypeAlias = str | tuple[str, ...]

ENDINGS = (".yaml", ".yml")


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of everything in a description."""


class Letterbox(Strict, frozen=True):
    """Where a picture of another shape stands, and the value 0..255 of what is around it."""

    at: Literal["corner", "centre"] = "corner"
    fill: Annotated[float, msgspec.Meta(ge=0, le=255)] = 0


class Pixels(Strict, frozen=True):
    """What is done to pixels 0..255: their order, less ``mean``, by ``std``, each in that order."""

    colour: Literal["bgr", "rgb"]
    mean: Three = (0.0, 0.0, 0.0)
    std: Three = (1.0, 1.0, 1.0)
    name: str = ""
    """Of the input; "" where the file has only one."""

    def __post_init__(self) -> None:
        if not all(self.std):
            raise ValueError("std must not be 0")


class Picture(Pixels, frozen=True):
    """What a detector takes. ``size`` is WIDTHxHEIGHT if it takes no other; ``multiple``, what
    both sides must be a multiple of."""

    size: str = ""
    multiple: Side = 32
    letterbox: Letterbox = Letterbox()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size and re.fullmatch(r"[1-9]\d{0,3}x[1-9]\d{0,3}", self.size) is None:
            raise ValueError("size must be WIDTHxHEIGHT")

    @property
    def sides(self) -> tuple[int, int] | None:
        """Width and height of the only size, if there is one."""
        if not self.size:
            return None
        width, _, height = self.size.partition("x")
        return int(width), int(height)


class Description(Strict, frozen=True):
    """What all descriptions have: the ONNX file, whose hash may be given, and where it is from."""

    file: str
    sha256: Sha256 | None = None
    licence: str = ""
    description: str = ""

    def found(self, origin: Path) -> Path:
        """The file, looked for from the folder of the description ``origin``.

        Raises ModelError if it is not there, or is another than the one described.
        """
        path = beside(origin, self.file, "file")
        if self.sha256 is not None and (found := sha256_of(path)) != self.sha256:
            raise ModelError(
                f"{path} has the wrong hash: {origin} says sha256 {self.sha256}, it is {found}",
                cure="bring the file that was described, or correct `sha256`",
            )
        return path


D = TypeVar("D", bound=Description)


def beside(origin: Path, file: str, key: str) -> Path:
    """The file that a description ``origin`` names under ``key``, looked for from its folder.

    Raises ModelError if it is not there.
    """
    path = origin.absolute().parent / Path(file).expanduser()
    if not path.is_file():
        raise ModelError(
            f"{origin} describes the model file {path}, which is not there",
            cure=f"correct `{key}`; it is found from the folder of the description",
        )
    return path


def is_description(model: str) -> bool:
    """Whether a ``model`` option is the path of a description, and no name of the manifest."""
    return model.endswith(ENDINGS)


def read_mapping(path: Path) -> dict[str, Any]:
    """The keys of a description; raises ConfigError if it cannot be read as one."""
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(
            f"there is no model description {path}",
            cure="check the path; a model of the manifest (`mpflow models list`) needs none",
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"the model description {path} cannot be read: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"the model description {path} is no mapping of keys to values")
    return data


def converted(path: Path, data: dict[str, Any], kind: type[D], convention: Mapping[str, Any]) -> D:
    """The description in ``data``, with what its ``input`` leaves out filled from a convention."""
    given = data.get("input", {})
    if isinstance(given, dict):
        data = {**data, "input": {**convention, **given}}
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        what, cure = in_words(error, data, kind)
        raise ConfigError(f"the model description {path} is wrong: {what}", cure=cure) from error
