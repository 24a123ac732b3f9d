"""A network of one's own file that takes upright crops and gives pictures: a swapper, an enhancer.

    crops BGR -> colour, mean, std -> network -> range -> pictures BGR, masks
                   what else it takes ---^

Both kinds of description have these keys:

    input: {side: 512, colour: rgb, mean: [127.5, 127.5, 127.5], std: [127.5, 127.5, 127.5]}
    range: -1..1                  # what black and white are in the picture that comes out
    outputs: {picture: output}    # a second role, ``mask``, where the file says what is good
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from mpflow.models.description import Description, Names, Pixels, Side
from mpflow.models.detections import Floats
from mpflow.models.fitting import fit, for_channels
from mpflow.models.sockets import Origin, Others, socket_of

Crops = NDArray[np.uint8]
Range: TypeAlias = Literal["0..1", "-1..1", "0..255", "input"]

PICTURE, MASK = "picture", "mask"
_NONE: Mapping[str, Any] = {}
_NO_OTHERS = Others()
_OF_RANGE: Mapping[Range, tuple[float, float]] = {  # what one more is in pixels, and where 0 lies
    "0..1": (255.0, 0.0),
    "-1..1": (127.5, 127.5),
    "0..255": (1.0, 0.0),
}
_MIXED = 0.05
"""Of the difference of two pictures: by no more may each change where both come together."""


class CropInput(Pixels, frozen=True):
    """The crop: a square of ``side`` pixels; None takes the file's, where it has one."""

    side: Side | None = None


class CropDescription(Description, frozen=True, kw_only=True):
    """What descriptions of swappers and of enhancers have in common.

    ``range``: what black and white are in the picture that comes out, in the order of colours of
    the input; ``input`` undoes mean and std.
    """

    input: CropInput
    range: Range = "0..1"
    outputs: dict[str, Names] = msgspec.field(default_factory=dict)


class CropNetwork:
    """A session of such a file: ``side`` of the crops that it takes, ``made`` of its pictures.

    It gives pictures ``scale`` times as large. ``others`` is what it takes beside them. At ``most``
    so many crops come in one call. Raises ModelError where the file does not fit.
    """

    def __init__(  # noqa: PLR0913 - one name for each choice
        self,
        session: Any,
        described: CropDescription,
        origin: Origin,
        *,
        scale: int = 1,
        others: Others = _NO_OTHERS,
        most: int = 2,
    ) -> None:
        self._pixels = described.input
        socket = socket_of(session, _named(session, described.input, others), origin)
        _check_fed(session, {socket.name, *others.each, *others.fixed}, origin)
        self.side = _side(described.input, socket.width, socket.height, origin)
        self.made = scale * self.side
        self.network = fit(
            session,
            socket,
            origin,
            sides=(self.side, self.side),
            layouts=_layouts(described, self.made),
            names={
                role: (each,) if isinstance(each, str) else tuple(each)
                for role, each in described.outputs.items()
            },
            most=most,
            others=others,
        )
        self._spread, self._zero = _pixels_of(described)
        if not self.network.single and self._mixes(others):
            self.network.single = True

    def run(self, crops: Crops, each: Mapping[str, Floats] = _NONE) -> tuple[Crops, Crops | None]:
        """Pictures BGR [n, made, made, 3] for crops BGR [n, side, side, 3], and how good each pixel
        is, 0..255 [n, made, made], where the network says so.

        ``each`` is what else belongs to each crop [n, *shape], by the name of its input.
        """
        if not len(crops):
            return np.zeros((0, self.made, self.made, 3), np.uint8), None
        outputs = self.network.run(tensor_of(crops, self._pixels), each)
        (raw,) = outputs[PICTURE]
        pictures = _eight_bits(raw * self._spread + self._zero).transpose(0, 2, 3, 1)
        if self._pixels.colour == "rgb":
            pictures = pictures[..., ::-1]
        masks = [
            _eight_bits(mask * 255).reshape(pictures.shape[:3]) for mask in outputs.get(MASK, ())
        ]
        return np.ascontiguousarray(pictures), masks[0] if masks else None

    def _mixes(self, others: Others) -> bool:
        """Whether two crops that come together are not what each is alone, or do not run at all.

        A file may have been exported with a reshape that carries over what belongs to the first.
        """
        noise = np.random.default_rng(0).integers(0, 256, (2, self.side, self.side, 3), np.uint8)
        tensor = tensor_of(noise, self._pixels)
        each = {k: np.concatenate([one, -one]) for k, one in others.each.items()}
        try:
            (both,) = self.network.run(tensor, each)[PICTURE]
            alone = [
                self.network.run(tensor[n : n + 1], {k: v[n : n + 1] for k, v in each.items()})
                for n in (0, 1)
            ]
        except Exception:  # noqa: BLE001 - onnxruntime has no error of its own
            return True
        first, second = (found[PICTURE][0][0] for found in alone)
        allowed = _MIXED * float(np.abs(first - second).mean()) + 1e-3
        return any(
            float(np.abs(together - one).mean()) > allowed
            for together, one in zip(both, (first, second), strict=True)
        )


def tensor_of(crops: Crops, pixels: Pixels) -> Floats:
    """BGR crops [n, h, w, 3] as a network takes them [n, 3, h, w]."""
    ordered = crops[..., ::-1] if pixels.colour == "rgb" else crops
    planes = ordered.transpose(0, 3, 1, 2).astype(np.float32)
    tensor: Floats = (planes - for_channels(pixels.mean)) / for_channels(pixels.std)
    return tensor


def _named(session: Any, crop: CropInput, others: Others) -> CropInput:
    """The input of the crop by its name, where it is the only one that is left."""
    left = [
        each.name
        for each in session.get_inputs()
        if each.name not in others.each and each.name not in others.fixed
    ]
    if crop.name or len(left) != 1:
        return crop
    return msgspec.structs.replace(crop, name=left[0])


def _layouts(described: CropDescription, made: int) -> Sequence[Mapping[str, Sequence[Any]]]:
    """One picture; and a mask with it where one is named."""
    picture = {PICTURE: [(3, made, made)]}
    if MASK not in described.outputs:
        return [picture]
    return [{**picture, MASK: [shape]} for shape in ((1, made, made), (made, made))]


def _pixels_of(described: CropDescription) -> tuple[Floats, Floats]:
    if described.range == "input":
        return for_channels(described.input.std), for_channels(described.input.mean)
    spread, zero = _OF_RANGE[described.range]
    return for_channels((spread,) * 3), for_channels((zero,) * 3)


def _eight_bits(values: Floats) -> Crops:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _side(crop: CropInput, width: int | None, height: int | None, origin: Origin) -> int:
    """The side of the file's crop."""
    there = width or height or crop.side
    if there is None:
        raise origin.error("it takes crops of any size", "say input.side")
    if (width or there) != (height or there):
        raise origin.error(f"its input is {width}x{height}, no square", "bring another file")
    if crop.side not in (None, there):
        what = f"its input is {there}x{there}, input.side is {crop.side}"
        raise origin.error(what, "correct input.side")
    return there


def _check_fed(session: Any, fed: set[str], origin: Origin) -> None:
    """Raise ModelError where the file takes anything that nobody would give it."""
    missing = [each.name for each in session.get_inputs() if each.name not in fed]
    if missing:
        raise origin.error(
            f"nothing is known of its inputs {', '.join(missing)}",
            "correct the names of the inputs, or the kind of model",
        )
