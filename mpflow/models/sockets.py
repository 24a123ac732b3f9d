"""The input of a model file, held against its description.

One input for pictures: float32, [n, 3, height, width]. What does not fit is a ModelError that names
the file and the key of the description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpflow.errors import ModelError
from mpflow.models.description import Pixels
from mpflow.models.detections import Floats

_FLOAT = "tensor(float)"


@dataclass(frozen=True, slots=True)
class Origin:
    """The description, or the contract where a file has none, and the file, as errors name them."""

    description: Path | str
    file: Path

    def error(self, what: str, cure: str) -> ModelError:
        """The two do not fit each other."""
        return ModelError(
            f"{self.file.name} does not fit its description {self.description}: {what}", cure=cure
        )


@dataclass(frozen=True, slots=True)
class Socket:
    """The input of a file: its name, and height and width where it takes no others.

    ``single`` is a file that takes one picture at a time.
    """

    name: str
    height: int | None
    width: int | None
    single: bool


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """What a file takes beside pictures, by the names of its inputs.

    ``each``: what belongs to a picture, by an example for one [1, *shape]; ``fixed``: what is the
    same in every call.
    """

    each: Mapping[str, Floats] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)


def socket_of(session: Any, pixels: Pixels, origin: Origin) -> Socket:
    """The input that takes pictures; raises ModelError if there is none."""
    inputs = {each.name: each for each in session.get_inputs()}
    if pixels.name not in inputs and (pixels.name or len(inputs) != 1):
        known = ", ".join(inputs)
        what = f"it has no input {pixels.name!r}" if pixels.name else "it has several inputs"
        raise origin.error(f"{what}; it has: {known}", "correct input.name")
    chosen = inputs[pixels.name] if pixels.name else next(iter(inputs.values()))
    shape, said = list(chosen.shape), f"its input {chosen.name} is {chosen.type} {chosen.shape}"
    if chosen.type != _FLOAT:
        raise origin.error(f"{said}, not float32", "export it with a float32 input")
    if len(shape) != 4 or (isinstance(shape[1], int) and shape[1] != 3):
        raise origin.error(
            f"{said}, not [n, 3, height, width]", "export it as NCHW with 3 channels"
        )
    batch, _, height, width = (
        side if isinstance(side, int) and side > 0 else None for side in shape
    )
    if batch not in (None, 1):
        raise origin.error(
            f"{said}: it takes {batch} pictures at a time, no fewer", "export it anew"
        )
    return Socket(chosen.name, height, width, batch == 1)
