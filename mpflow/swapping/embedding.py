"""A source as the numbers that a swapper takes of it.

    photos -> ArcFace crops -> embedder -> mean -> emap, converter or nothing -> length 1 or as is

Lengths are held against each other when the files are opened: what does not fit is a ModelError
that names the file and the key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import onnx

from mpflow.errors import ConfigError, ModelError
from mpflow.models.align import CROP, crop
from mpflow.models.arcface import ArcFaceFile
from mpflow.models.description import beside
from mpflow.models.detections import Floats
from mpflow.models.embedders import open_embedder
from mpflow.models.sface import normalised
from mpflow.models.sockets import Origin
from mpflow.models.store import ModelStore
from mpflow.swapping.contract import Picture, Source
from mpflow.swapping.description import Embedding

R50 = "w600k_r50.onnx"
PACK = "insightface:buffalo_l"
"""Whose embeddings INSwapper was trained with, and converters take: the file, and where it is."""

Project: TypeAlias = Callable[[Floats], Floats]


class Raw(Protocol):
    """What makes numbers of faces."""

    size: int

    def raw(self, crops: Sequence[Picture]) -> Floats:
        """Embeddings [n, k] of any length for BGR crops [size, size, 3]."""


@dataclass(frozen=True, slots=True)
class Opener:
    """How files are opened: where from, and on which device."""

    session: Callable[[Path], Any]
    store: ModelStore
    embedder: dict[str, Any] = field(default_factory=dict)
    """Arguments for mpflow.models.embedders.open_embedder."""


class SourceEmbedding:
    """Makes the numbers of a source, as long as the swapper's input is wide; ``files`` it uses."""

    def __init__(self, described: Embedding, origin: Origin, opener: Opener, width: int) -> None:
        self.files: dict[str, Path] = {}
        self._described = described
        self._origin, self._opener = origin, opener
        self._embedder = self._open_embedder()
        self._project = self._open_projection()
        noise = np.random.default_rng(0).integers(0, 256, (CROP, CROP, 3), np.uint8)
        made = self._lead([noise])
        if made.shape[1] != width:
            raise origin.error(
                f"its input {described.name} takes {width} numbers, {self._way} gives "
                f"{made.shape[1]}",
                "correct embedding.model or embedding.projection",
            )

    def of(self, source: Source) -> Floats:
        """The numbers [k] of a source; each photo counts by how sure the embedder is of it, which
        is the length of what it gives."""
        crops = [crop(photo.picture, photo.points) for photo in source.photos]
        made: Floats = self._lead(crops)[0]
        if not np.isfinite(made).all():
            raise ConfigError("shows a face that has no embedding", cure="bring another photo")
        return made

    @property
    def _way(self) -> str:
        projection = self._described.projection
        named = "" if projection == "none" else f" by its {projection}"
        return f"{self._named}{named}"

    @property
    def _named(self) -> str:
        model = self.files.get("embedder")
        return model.name if model is not None else self._described.model or PACK

    def _lead(self, crops: Sequence[Picture]) -> Floats:
        """What goes into the swapper [1, k]."""
        mean: Floats = self._embedder.raw(crops).mean(axis=0, keepdims=True)
        # A matrix, and nothing at all, do not mind the length. A converter has learned it.
        given = mean if self._described.projection == "converter" else self._unless_raw(mean)
        return self._unless_raw(self._project(given)).astype(np.float32)

    def _unless_raw(self, numbers: Floats) -> Floats:
        with np.errstate(invalid="ignore"):  # a length of 0 is told of by what is made of it
            return normalised(numbers) if self._described.normalised else numbers

    def _open_embedder(self) -> Raw:
        model = self._described.model
        if model.endswith(".onnx") and ":" not in model:
            path: Path | None = self._beside(model, "embedding.model")
        else:
            path = None if model else self._own_r50()
        if path is not None:
            self.files["embedder"] = path
            return ArcFaceFile(self._opener.session(path), Origin(self._origin.description, path))
        name, store = model or PACK, self._opener.store
        try:
            embedder, _ = open_embedder(name, store, **self._opener.embedder)
        except ModelError as error:
            if model:
                raise
            raise ModelError(
                f"{self._origin.file.name} takes the embeddings of {R50}, which is not beside it; "
                f"and {error.what}",
                cure=f"put {R50} of insightface's pack buffalo_l beside it, or describe another "
                "embedder (embedding.model, docs/models.md)",
            ) from error
        if ":" not in name:
            self.files["embedder"] = store.path(name)
        return embedder

    def _beside(self, file: str, key: str) -> Path:
        return beside(Path(self._origin.description), file, key)

    def _own_r50(self) -> Path | None:
        """The usual embedder's file, where it lies already."""
        pack = Path("~/.insightface/models").expanduser() / PACK.partition(":")[2]
        places = (self._origin.file.absolute().parent, pack)
        return next((each / R50 for each in places if (each / R50).is_file()), None)

    def _open_projection(self) -> Project:
        if self._described.projection == "none":
            return lambda numbers: numbers
        if self._described.projection == "emap":
            matrix = emap_of(self._origin)

            def by_matrix(numbers: Floats) -> Floats:
                projected: Floats = self._fitting(numbers, len(matrix), "its emap") @ matrix
                return projected

            return by_matrix
        path = self._beside(self._described.converter, "embedding.converter")
        self.files["converter"] = path
        return self._converter(path)

    def _converter(self, path: Path) -> Project:
        session = self._opener.session(path)
        taken, given = session.get_inputs(), session.get_outputs()
        origin = Origin(self._origin.description, path)
        if len(taken) != 1 or len(taken[0].shape) != 2 or taken[0].type != "tensor(float)":
            raise origin.error(
                f"it takes {', '.join(f'{each.name} {each.shape}' for each in taken)}, not one row "
                "of numbers",
                "correct embedding.converter",
            )
        width = taken[0].shape[1]

        def convert(numbers: Floats) -> Floats:
            if isinstance(width, int):
                self._fitting(numbers, width, path.name)
            made = session.run([given[0].name], {taken[0].name: numbers.astype(np.float32)})[0]
            return np.asarray(made, np.float32).reshape(1, -1)

        return convert

    def _fitting(self, numbers: Floats, width: int, what: str) -> Floats:
        if numbers.shape[1] != width:
            raise self._origin.error(
                f"{what} takes {width} numbers, {self._named} gives {numbers.shape[1]}",
                "correct embedding.model",
            )
        return numbers


def emap_of(origin: Origin) -> Floats:
    """The matrix [k, l] from embeddings to what the swapper takes: the initializer that is called
    emap, or else the last of the file, as insightface has it.

    Raises ModelError where that is no matrix.
    """
    constants = onnx.load(str(origin.file)).graph.initializer
    named = next((each for each in constants if each.name == "emap"), None)
    found = named if named is not None else (constants[-1] if len(constants) else None)
    matrix = onnx.numpy_helper.to_array(found) if found is not None else np.zeros(0)
    if matrix.ndim != 2 or matrix.dtype.kind != "f":
        said = f"{found.name} {list(matrix.shape)}" if found is not None else "there is none"
        raise origin.error(
            f"the last constant in it should be the matrix of embeddings; {said}",
            "correct embedding.projection",
        )
    return matrix.astype(np.float32)
