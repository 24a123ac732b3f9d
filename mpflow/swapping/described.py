"""A swapper of one's own file, by its description; an INSwapper file needs none.

    targets -> crops BGR -----------+
    sources -> numbers or pictures -+-> network -> range -> made faces BGR, masks

Targets of several frames, and for several sources, go through together where the file allows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mpflow.errors import ConfigError, ModelError
from mpflow.models.align import CROP, Template, cut, matrix_to
from mpflow.models.crop_network import CropNetwork, tensor_of
from mpflow.models.description import is_description
from mpflow.models.detections import Floats
from mpflow.models.engines import Engines
from mpflow.models.sessions import SessionFacts, open_session
from mpflow.models.sockets import Origin, Others
from mpflow.models.store import ModelStore
from mpflow.swapping.contract import Made, Source, Target
from mpflow.swapping.description import SourcePicture, Swapping, inswapper, load_swapper
from mpflow.swapping.embedding import Opener, SourceEmbedding

Prepare: TypeAlias = Callable[[Source], Floats]

_LEAST_SIDE = 128
"""Of a crop whose side only the file knows; where the file does, no engine's range asks for it."""


class DescribedSwapper:
    """A swapper (mpflow.swapping.contract.Swapper) around a session of its file.

    ``photo`` is the template and the side of the crop that is taken of a source's photos, ``files``
    are those it uses, by role. At ``most`` so many targets go in one call. Raises ModelError where
    a file does not fit the description.
    """

    def __init__(
        self, session: Any, described: Swapping, origin: Origin, opener: Opener, most: int = 8
    ) -> None:
        self.template = described.template
        self.described = described
        self.files = {"swapper": origin.file}
        self.photo: tuple[Template, int] = "arcface", CROP
        self._most = max(1, most)
        if described.embedding is not None:
            self._input = described.embedding.name
            shape = _shape_of(session, self._input, "embedding.name", origin, rank=2)
            width = _numbers(shape, self._input, origin)
            embedding = SourceEmbedding(described.embedding, origin, opener, width)
            self.files |= embedding.files
            self._prepare: Prepare = embedding.of
            example = np.full((1, width), width**-0.5, np.float32)
        else:
            assert described.source is not None  # one of the two is there, by the description
            self._input = described.source.name
            shape = _shape_of(session, self._input, "source.name", origin, rank=4)
            side = described.source.side
            if any(each not in (None, side) for each in shape[2:]) or shape[1] not in (None, 3):
                raise origin.error(
                    f"its input {self._input} is {shape}, source.side is {side}",
                    "correct source.side",
                )
            self.photo = described.source.template, side
            self._prepare = _by_picture(described.source)
            example = np.zeros((1, 3, side, side), np.float32)
        others = Others({self._input: example})
        self.network = CropNetwork(session, described, origin, others=others, most=self._most)

    @property
    def size(self) -> int:
        """Pixels of a side of the crop."""
        return self.network.side

    def prepare(self, source: Source) -> Floats:
        """What the file takes of a source: numbers [k], or its picture [3, side, side]."""
        return self._prepare(source)

    def swap(self, targets: Sequence[Target], prepared: Sequence[Floats]) -> list[Made | None]:
        """A face for each target, from the source at the same place."""
        made: list[Made | None] = []
        for first in range(0, len(targets), self._most):
            part = slice(first, first + self._most)
            made += self._swap(targets[part], prepared[part])
        return made

    def _swap(self, targets: Sequence[Target], prepared: Sequence[Floats]) -> list[Made]:
        crops = np.stack([each.crop for each in targets])
        pictures, masks = self.network.run(crops, {self._input: np.stack(prepared)})
        if masks is None:
            masks = np.full(pictures.shape[:3], 255, np.uint8)
        return [Made(picture, mask) for picture, mask in zip(pictures, masks, strict=True)]


def open_swapper(  # noqa: PLR0913 - one name for each choice
    path: Path,
    store: ModelStore,
    *,
    device: str = "auto",
    providers: Sequence[str] = (),
    threads: int = 1,
    warn: Callable[[str], None] | None = None,
    most: int = 8,
) -> tuple[DescribedSwapper, SessionFacts]:
    """The swapper that ``path`` describes, or the INSwapper file that it is, and how it runs.

    At ``most`` so many faces go in one call. Raises ConfigError for a wrong description, ModelError
    for a file that cannot be had or does not fit.
    """
    if is_description(path.name):
        described = load_swapper(path)
        origin = Origin(path, described.found(path))
    elif path.is_file():
        described = inswapper(path)
        origin = Origin("of INSwapper files", path)
    else:
        raise ModelError(
            f"there is no model file {path}",
            cure="an INSwapper file that ends in .onnx, or a description that ends in .yaml",
        )
    how: dict[str, Any] = {"device": device, "providers": providers, "threads": threads}
    side = described.input.side or _LEAST_SIDE
    engines = Engines.for_pictures(store.cache_dir / "engines", most, side, side, side)
    session, facts = open_session(origin.file, warn=warn, engines=engines, **how)
    opener = Opener(lambda file: open_session(file, **how)[0], store, how)
    return DescribedSwapper(session, described, origin, opener, most), facts


def _by_picture(described: SourcePicture) -> Prepare:
    def prepare(source: Source) -> Floats:
        scales = [_enlarged(each.points, described) for each in source.photos]
        best = next((n for n, scale in enumerate(scales) if scale <= 1), None)
        if best is None:
            raise ConfigError(
                f"shows a face that would have to be enlarged {min(scales):.1f} times to fill the "
                f"crop of {described.side} pixels that the swapper takes",
                cure="bring a larger photo of the source",
            )
        photo = source.photos[best]
        picture = cut(photo.picture, photo.points, described.template, described.side)
        tensor: Floats = tensor_of(picture[None], described)[0]
        return tensor

    return prepare


def _enlarged(points: Floats, described: SourcePicture) -> float:
    """How many times larger the face is in the crop than in its photo."""
    linear = matrix_to(points, described.template, described.side)[:, :2]
    return float(np.sqrt(abs(np.linalg.det(linear.astype(np.float64)))))


def _shape_of(session: Any, name: str, key: str, origin: Origin, *, rank: int) -> list[int | None]:
    """The shape of the input for the source; raises ModelError if there is none of this kind."""
    inputs = {each.name: each for each in session.get_inputs()}
    if name not in inputs:
        known = ", ".join(inputs)
        raise origin.error(f"it has no input {name!r}; it has: {known}", f"correct {key}")
    found = inputs[name]
    if len(found.shape) != rank or found.type != "tensor(float)":
        said = f"its input {name} is {found.type} {found.shape}"
        wanted = "rows of numbers" if rank == 2 else "pictures"
        raise origin.error(f"{said}, not float32 {wanted}", f"correct {key}, or the make")
    return [side if isinstance(side, int) and side > 0 else None for side in found.shape]


def _numbers(shape: Sequence[int | None], name: str, origin: Origin) -> int:
    width = shape[1]
    if width is None:
        raise origin.error(f"its input {name} has no fixed width", "export it with one")
    return width
