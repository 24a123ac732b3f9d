"""Embedders that insightface loads: ArcFace files, and the packs it comes with.

Its packs are for research that is not commercial. They come from the network, by insightface's
own download, unless they lie in ~/.insightface/models already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpflow.errors import ModelError
from mpflow.models.align import CROP
from mpflow.models.detections import Floats
from mpflow.models.sessions import SessionFacts
from mpflow.models.sface import normalised

ROOT = Path("~/.insightface")


class ArcFace:
    """Embeddings by insightface's ArcFaceONNX, which knows how each file wants its pixels."""

    size = CROP
    # Not measured here: no such weights can be had where mpflow is built. Pairs of two persons
    # stay below 0.3 with the packs' r50 by what is published, so both err to the safe side.
    same = 0.45
    other = 0.15

    def __init__(self, model: Any) -> None:
        self._model = model

    def embed(self, crops: Sequence[NDArray[np.uint8]]) -> Floats:
        """Embeddings [n, k] of length 1 for BGR crops [112, 112, 3]."""
        return normalised(self.raw(crops))

    def raw(self, crops: Sequence[NDArray[np.uint8]]) -> Floats:
        """The same as the network gives them, of any length."""
        rows = [np.asarray(self._model.get_feat(crop), np.float32)[0] for crop in crops]
        if not rows:
            return np.zeros((0, 1), np.float32)
        raw: Floats = np.stack(rows)
        return raw


def open_insightface(
    name: str, session: Callable[[Path], tuple[Any, SessionFacts]], *, offline: bool
) -> tuple[ArcFace, SessionFacts]:
    """The ArcFace file, or the one of a pack, in a session of our own.

    Raises ModelError where insightface is not installed, or there is no such file.
    """
    room = _insightface()
    path = Path(name).expanduser() if name.endswith(".onnx") else _in_pack(name, offline=offline)
    opened, facts = session(path)
    _require_arcface(opened, path)
    return ArcFace(room.ArcFaceONNX(model_file=str(path), session=opened)), facts


def _insightface() -> ModuleType:
    try:
        from insightface.model_zoo import arcface_onnx
    except ImportError as error:
        raise ModelError(
            f"insightface cannot be imported: {error}",
            cure="pip install 'mpflow-pipeline[insightface]', or leave embed.model at sface",
        ) from error
    room: ModuleType = arcface_onnx
    return room


def _in_pack(name: str, *, offline: bool) -> Path:
    """The file of a pack that embeds faces, fetched if need be."""
    folder = (ROOT / "models" / name).expanduser()
    if not folder.is_dir():
        _fetch(name, offline=offline)
    for path in _largest_first(folder):
        if _takes_crops(path):
            return path
    raise ModelError(
        f"no file in {folder} embeds faces", cure="name one as insightface:/path/to/FILE.onnx"
    )


def _fetch(name: str, *, offline: bool) -> None:
    place = ROOT / "models" / name
    if offline:
        raise ModelError(
            f"the pack {name!r} is not in {place}, and offline it cannot be fetched",
            cure="bring it there, or name a file as insightface:/path/to/FILE.onnx",
        )
    from insightface.utils import storage

    try:
        storage.ensure_available("models", name, root=str(ROOT))
    except Exception as error:  # whatever its download raises
        raise ModelError(
            f"insightface cannot fetch the pack {name!r}: {error}",
            cure=f"bring it to {place}, or name a file as insightface:/path/to/FILE.onnx",
        ) from error


def _largest_first(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("*.onnx"), key=lambda path: -path.stat().st_size)


def _takes_crops(path: Path) -> bool:
    """Whether a file takes one crop of 112x112 and gives one row of numbers, by its header."""
    import onnx

    graph = onnx.load(str(path), load_external_data=False).graph
    if len(graph.output) != 1:
        return False
    sides = [side.dim_value for side in graph.input[0].type.tensor_type.shape.dim]
    return sides[2:] == [CROP, CROP]


def _require_arcface(session: Any, path: Path) -> None:
    taken, given = session.get_inputs(), session.get_outputs()
    if len(given) != 1 or list(taken[0].shape[1:]) != [3, CROP, CROP]:
        raise ModelError(
            f"{path.name} takes {taken[0].shape} and has {len(given)} outputs: no ArcFace model",
            cure=f"it has to take [n, 3, {CROP}, {CROP}] and give one row of numbers each",
        )
