"""The embedders: what makes numbers of a face that are near each other for the same person.

    sface                          of the manifest, the default
    insightface:buffalo_l          a pack of insightface's, fetched by it where it is not there yet
    insightface:/path/model.onnx   a file for the ArcFace crop of 112x112 pixels

Thresholds belong to an embedder. Those of SFace were measured (docs/identity.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mpflow.errors import ModelError
from mpflow.models.detections import Floats
from mpflow.models.sessions import SessionFacts, open_session
from mpflow.models.sface import SFace
from mpflow.models.store import ModelStore

Crop = NDArray[np.uint8]
Open = Callable[[Path], tuple[Any, SessionFacts]]

INSIGHTFACE = "insightface"
"""What a model's name begins with, before a colon, that insightface is to load."""


class Embedder(Protocol):
    """What makes embeddings of faces."""

    size: int
    """The side of a crop by the ArcFace template (mpflow.models.align), in pixels."""

    same: float
    """Cosine from which on two faces are one person."""

    other: float
    """Cosine below which they are surely two."""

    def embed(self, crops: Sequence[Crop]) -> Floats:
        """Embeddings [n, k] of length 1, float32, for BGR crops [size, size, 3]."""

    def raw(self, crops: Sequence[Crop]) -> Floats:
        """The same as the network gives them, of any length."""


def open_embedder(  # noqa: PLR0913 - one name for each choice
    model: str,
    store: ModelStore,
    *,
    device: str = "auto",
    providers: Sequence[str] = (),
    threads: int = 1,
    warn: Callable[[str], None] | None = None,
) -> tuple[Embedder, SessionFacts]:
    """The embedder ``model`` and how it runs; raises ModelError that names the cure."""

    def session(path: Path) -> tuple[Any, SessionFacts]:
        return open_session(path, device=device, providers=providers, threads=threads, warn=warn)

    kind, colon, name = model.partition(":")
    if colon and kind == INSIGHTFACE:
        from mpflow.models.insight import open_insightface

        return open_insightface(name, session, offline=store.offline)
    if store.manifest.entry(model).role != "embedder":
        raise ModelError(f"{model!r} is no embedder", cure=f"sface, or {INSIGHTFACE}:FILE.onnx")
    opened, facts = session(store.path(model))
    return SFace(opened), facts
