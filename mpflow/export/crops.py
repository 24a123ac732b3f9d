"""Crops on the disk: taken while frames pass, swept in the end of those that nothing names."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from mpflow.errors import InternalError, OutputError
from mpflow.export.files import private_folder
from mpflow.export.identities import CROP, CROPS
from mpflow.export.lines import FaceLine
from mpflow.linefile import file_error
from mpflow.models import align
from mpflow.wholefile import PRIVATE, sync, write_new

if TYPE_CHECKING:
    from mpflow.frame import Frame

_QUICK = [cv2.IMWRITE_PNG_COMPRESSION, 3]


class Crops:
    """The folder of crops of one export."""

    def __init__(self, folder: Path, template: align.Template, size: int) -> None:
        self.folder = folder / CROPS
        self._template: align.Template = template
        self._size = size
        self._fresh: list[Path] = []

    def take(self, frame: Frame, face: FaceLine, number: int) -> str:
        """Write the aligned crop of a face of frame ``number``; the file's name.

        Raises OutputError or ResourceError.
        """
        name = f"track-{face.track:05d}-frame-{number:07d}.png"
        picture, _ = align.aligned(frame, face.points, self._template, self._size)
        path = private_folder(self.folder) / name
        try:
            write_new(path, png(picture), PRIVATE)
        except OSError as error:
            raise file_error(path, error) from error
        self._fresh.append(path)
        return name

    def keep(self) -> None:
        """Bring what was written since the last call to the disk."""
        try:
            for path in self._fresh:
                sync(path)
        except OSError as error:
            raise file_error(self.folder, error) from error
        self._fresh.clear()

    def data(self, name: str) -> bytes:
        """The file of a crop; raises OutputError where it is gone."""
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise OutputError(
                f"the crop {str(self.folder / name)!r} is gone: {error.strerror}",
                cure="start anew, with -y, and leave the folder alone meanwhile",
            ) from error

    def for_embedder(self, name: str, face: FaceLine, side: int) -> NDArray[np.uint8]:
        """A crop as embedders take it, [side, side, 3] by the ArcFace template."""
        encoded = np.frombuffer(self.data(name), np.uint8)
        picture = cv2.imdecode(encoded, cv2.IMREAD_COLOR)
        if picture is None:
            raise OutputError(f"the crop {name!r} is damaged", cure="start anew, with -y")
        matrix = align.matrix_to(face.points, self._template, self._size)
        points = np.asarray(face.points) @ matrix[:, :2].T + matrix[:, 2]
        return align.crop(np.asarray(picture, np.uint8), points, side)

    def sweep(self, wanted: Collection[str]) -> None:
        """Remove crops of ours that nothing names any more: bests that were surpassed, and those
        of an earlier export."""
        if not self.folder.is_dir():
            return
        for path in list(self.folder.iterdir()):
            if CROP.match(path.name) and path.name not in wanted:
                path.unlink(missing_ok=True)


def png(picture: NDArray[np.uint8]) -> bytes:
    """A BGR picture as PNG."""
    done, data = cv2.imencode(".png", picture, _QUICK)
    if not done:
        raise InternalError("a crop could not be coded as PNG")
    return data.tobytes()
