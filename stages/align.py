"""Cut an upright crop of every face out of the picture's planes, and keep it beside the picture.

token.faces -> five points -> similarity to a template -> crop ("crop") and matrix ("crop.matrix")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from mpflow.side import bytes_for
from mpflow.stage import Options, Stage, Work
from mpflow.tokens import Face, Token

if TYPE_CHECKING:  # see mpflow.stage
    import numpy as np
    import numpy.typing as npt

    from mpflow.frame import Frame
    from mpflow.models.align import Template
    from mpflow.models.detections import Floats

    Crop = tuple[npt.NDArray[np.uint8], Floats]

CROP, MATRIX = "crop", "crop.matrix"
_POINTS = 5


class AlignOptions(Options, frozen=True, forbid_unknown_fields=True):
    """How crops are cut.

    ``template``: where eyes, nose and mouth come to lie: as embedders expect it (arcface), as
    SimSwap and GHOST do (arcface-v1), other swappers (arcface-128), or enhancers (ffhq). ``size``:
    pixels of a side. ``faces``: so many of a frame get a crop, the largest first.
    """

    template: Literal["arcface", "arcface-v1", "arcface-128", "ffhq"] = "arcface"
    size: Annotated[int, msgspec.Meta(ge=16, le=1024)] = 112
    faces: Annotated[int, msgspec.Meta(ge=1, le=64)] = 8


class Align(Stage[AlignOptions]):
    """Keeps an aligned crop of each face with five points beside the picture."""

    Options = AlignOptions
    needs = ("faces",)
    gives = ("crops",)
    advice = "more workers, or a smaller size, would help"

    @property
    def side_bytes(self) -> int:
        """A crop and its matrix for every face that gets one."""
        size = self.options.size
        each = bytes_for((size, size, 3), "u1") + bytes_for((2, 3), "f4")
        return self.options.faces * each

    def open(self) -> None:
        """Use no more threads than the worker may."""
        import cv2

        cv2.setNumThreads(self.context.threads)

    def process(self, batch: Sequence[Work]) -> Iterator[Token]:
        """Cut the crops of each frame."""
        for work in batch:
            yield self._aligned(work.token, work.frame)

    def _aligned(self, token: Token, frame: Frame) -> Token:
        chosen = self._chosen(token.faces)
        cut = [
            self._cut(frame, face) if number in chosen else None
            for number, face in enumerate(token.faces)
        ]
        arrays: dict[str, list[npt.NDArray[Any] | None]] = {
            CROP: [each[0] if each else None for each in cut],
            MATRIX: [each[1] if each else None for each in cut],
        }
        return token.with_faces(frame.attach(token.faces, arrays))

    def _chosen(self, faces: Sequence[Face]) -> set[int]:
        """The largest faces with five points that are not all one."""
        able = [
            n
            for n, face in enumerate(faces)
            if len(face.points) == _POINTS and len({*face.points}) > 1
        ]
        able.sort(key=lambda n: _width(faces[n]), reverse=True)
        return {*able[: self.options.faces]}

    def _cut(self, frame: Frame, face: Face) -> Crop:
        from mpflow.models.align import aligned

        template: Template = self.options.template
        return aligned(frame, face.points, template, self.options.size)


def _width(face: Face) -> float:
    return max(face.box[2] - face.box[0], face.box[3] - face.box[1])
