"""A network of one's own file that says which part of a face may change, by description.

    # xseg.yaml                           blend.masks=[xseg.yaml]
    mask: occluder                        # or parser
    file: xseg.onnx

An ``occluder`` gives one number a pixel: how much the face is open to sight there. Its conventions
are those of XSeg (DeepFaceLab, facelib/XSegNet.py) as it is handed out in ONNX: BGR by 255, colours
last, 256 pixels. A ``parser`` gives a number for each class and pixel, of which the largest counts;
its conventions are those of BiSeNet trained on CelebAMask-HQ (zllrunning/face-parsing.PyTorch,
test.py): RGB by ImageNet's mean and deviation, 512 pixels, 19 classes.

What does not fit is a ModelError that names the file and the key of the description.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from mpflow.errors import ConfigError
from mpflow.models.align import Template
from mpflow.models.description import Description, Pixels, Side, converted, read_mapping
from mpflow.models.detections import Floats
from mpflow.models.sockets import Origin

Crops = NDArray[np.uint8]

_FLOAT = "tensor(float)"
_MEAN, _STD = (0.485 * 255, 0.456 * 255, 0.406 * 255), (0.229 * 255, 0.224 * 255, 0.225 * 255)


class MaskInput(Pixels, frozen=True):
    """A square of ``side`` pixels; ``layout``: colours before rows and columns, or after them."""

    side: Side = 256
    layout: Literal["nchw", "nhwc"] = "nchw"


class Masking(Description, frozen=True, kw_only=True, tag_field="mask"):
    """A description of either; ``template`` is how its crop is aligned, ``output`` the output to
    read, "" where the file has only one that counts, its first."""

    convention: ClassVar[Mapping[str, Any]]

    input: MaskInput
    template: Template = "ffhq"
    output: str = ""

    def shares(self, raw: Floats) -> Floats | None:
        """How much of each pixel may change, 0..1 [n, s, s]; None for a shape that is none of
        its."""
        raise NotImplementedError


class Occluder(Masking, frozen=True, kw_only=True, tag="occluder"):
    """``shows``: what a 1 stands for, the face or what covers it. ``logits``: the numbers are not
    yet between 0 and 1."""

    convention: ClassVar[Mapping[str, Any]] = {
        "colour": "bgr",
        "std": (255.0,) * 3,
        "side": 256,
        "layout": "nhwc",
    }

    shows: Literal["face", "cover"] = "face"
    logits: bool = False

    def shares(self, raw: Floats) -> Floats | None:
        """One number a pixel, wherever the axis of one stands."""
        flat = raw.reshape(len(raw), *[side for side in raw.shape[1:] if side != 1])
        if flat.shape[1:] != (self.input.side,) * 2:
            return None
        share = 1 / (1 + np.exp(-flat.clip(-60, 60))) if self.logits else flat.clip(0, 1)
        return np.asarray(share if self.shows == "face" else 1 - share, np.float32)


class Parser(Masking, frozen=True, kw_only=True, tag="parser"):
    """``keep``: the classes that may change; of CelebAMask-HQ skin (1), brows (2, 3), eyes (4, 5),
    nose (10), mouth (11) and lips (12, 13): no glasses (6), ears, hair or hat."""

    convention: ClassVar[Mapping[str, Any]] = {
        "colour": "rgb",
        "mean": _MEAN,
        "std": _STD,
        "side": 512,
    }

    keep: Annotated[
        tuple[Annotated[int, msgspec.Meta(ge=0, le=999)], ...], msgspec.Meta(min_length=1)
    ] = (
        *range(1, 6),
        *range(10, 14),
    )

    def shares(self, raw: Floats) -> Floats | None:
        """The largest of [n, classes, s, s] or [n, s, s, classes]."""
        side, most = self.input.side, max(self.keep)
        if raw.ndim != 4:
            return None
        axis = 1 if raw.shape[2:] == (side, side) else 3
        if raw.shape[axis] <= most or {*np.delete(raw.shape[1:], axis - 1)} != {side}:
            return None
        return np.isin(raw.argmax(axis=axis), self.keep).astype(np.float32)


_KINDS: Mapping[str, type[Masking]] = {"occluder": Occluder, "parser": Parser}


def load_masking(path: Path) -> Masking:
    """Read a description; raises ConfigError that names the key and the cure."""
    data = read_mapping(path)
    kind = _KINDS.get(str(data.get("mask")))
    if kind is None:
        said = f"mask {data['mask']!r} is none" if "mask" in data else "it has no mask"
        raise ConfigError(f"{path} describes no mask: {said}", cure=f"known: {', '.join(_KINDS)}")
    return converted(path, data, kind, kind.convention)


class MaskNetwork:
    """A session of such a file; ``single`` is one that is fed one crop at a time.

    Raises ModelError where the file does not fit its description.
    """

    def __init__(self, session: Any, described: Masking, origin: Origin) -> None:
        self.described = described
        self._session = session
        self._input = self._checked_input(origin)
        self.output = self._checked_output(origin)
        self.single = self._tried(origin)

    def shares(self, crops: Crops) -> Floats:
        """How much of each pixel may change, 0..1 [n, s, s], for BGR crops [n, s, s, 3].

        Raises FloatingPointError for NaN.
        """
        step = 1 if self.single else max(1, len(crops))
        parts = [self._call(crops[first : first + step]) for first in range(0, len(crops), step)]
        shares = [self.described.shares(part) for part in parts]
        return np.concatenate([share for share in shares if share is not None])

    def _call(self, crops: Crops) -> Floats:
        given = self.described.input
        ordered = crops[..., ::-1] if given.colour == "rgb" else crops
        mean, std = (np.array(each, np.float32) for each in (given.mean, given.std))
        tensor = (ordered.astype(np.float32) - mean) / std
        if given.layout == "nchw":
            tensor = np.ascontiguousarray(tensor.transpose(0, 3, 1, 2))
        (raw,) = self._session.run([self.output], {self._input: tensor})
        if np.isnan(raw).any():
            raise FloatingPointError(f"the network's output {self.output} is no number")
        return np.asarray(raw, np.float32)

    def _checked_input(self, origin: Origin) -> str:
        given = self.described.input
        inputs = {each.name: each for each in self._session.get_inputs()}
        if len(inputs) != 1 or given.name not in ("", *inputs):
            raise origin.error(
                f"it has the inputs {', '.join(inputs)}", "one input for pictures; see input.name"
            )
        (chosen,) = inputs.values()
        side = given.side
        wanted = (3, side, side) if given.layout == "nchw" else (side, side, 3)
        sides = tuple(chosen.shape[1:])
        fits = len(sides) == 3 and all(
            not isinstance(has, int) or has == side for has, side in zip(sides, wanted, strict=True)
        )
        if chosen.type != _FLOAT or not fits:
            raise origin.error(
                f"its input {chosen.name} is {chosen.type} {chosen.shape}, not float32 "
                f"[n, {', '.join(map(str, wanted))}]",
                "correct input.layout or input.side",
            )
        return str(chosen.name)

    def _checked_output(self, origin: Origin) -> str:
        names = [each.name for each in self._session.get_outputs()]
        output = self.described.output or names[0]
        if output not in names:
            what = f"it has no output {output!r}; it has: {', '.join(names)}"
            raise origin.error(what, "correct output")
        return str(output)

    def _tried(self, origin: Origin) -> bool:
        """Whether it takes one crop at a time only."""
        side = self.described.input.side
        black = np.zeros((2, side, side, 3), np.uint8)
        try:
            raw = self._call(black)
            if len(raw) == 2 and self.described.shares(raw) is not None:
                return False
        except Exception:  # noqa: BLE001 - onnxruntime has no error of its own; one is tried next
            pass
        try:
            raw = self._call(black[:1])
        except Exception as error:
            what = f"it does not run on a crop of {side}x{side}: {str(error).splitlines()[0]}"
            raise origin.error(what, "correct input.side and input.layout") from error
        if len(raw) != 1 or self.described.shares(raw) is None:
            what = f"its output {self.output} is {list(raw.shape)} for a crop of {side}x{side}"
            raise origin.error(what, "correct mask, output or keep")
        return True
