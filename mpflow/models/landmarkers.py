"""Landmark networks by the names they have in the manifest, or by the path of a description,
opened as a stage's options ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from mpflow.errors import ConfigError
from mpflow.models.description import is_description
from mpflow.models.engines import Engines
from mpflow.models.facemesh import FaceMesh
from mpflow.models.landmarks import LandmarkModel
from mpflow.models.sessions import SessionFacts, open_session
from mpflow.models.store import ModelStore

LANDMARKERS: Mapping[str, type[FaceMesh]] = {"facemesh": FaceMesh}


class Choice(Protocol):
    """What the options of a stage that lays meshes say; see mpflow.stages.landmarks."""

    @property
    def model(self) -> str:
        """A name of the manifest, or the path of a description."""

    @property
    def crops(self) -> int:
        """The most crops in one call."""

    @property
    def device(self) -> str:
        """See mpflow.models.sessions."""

    @property
    def providers(self) -> tuple[str, ...]:
        """See mpflow.models.sessions."""


def open_landmarker(
    choice: Choice,
    store: ModelStore,
    *,
    threads: int,
    warn: Callable[[str], None],
    told: Callable[[str], None],
) -> tuple[LandmarkModel, SessionFacts]:
    """The landmark network that is asked for, and the facts of how it runs.

    Raises ConfigError for a model that is none and for a wrong description; ModelError for a file
    that cannot be had or does not fit.
    """
    file = landmarker_file(choice.model, lambda name: store.path(name, told))
    session, facts = open_session(
        file,
        device=choice.device,
        providers=choice.providers,
        threads=threads,
        warn=warn,
        engines=_engines(store.cache_dir / "engines", choice),
    )
    return landmarker(choice.model, session, file), facts


def landmarker(name: str, session: Any, file: Path | None = None) -> LandmarkModel:
    """The landmark network ``name`` around its session.

    ``file`` is what the session was opened with, for errors. Raises ConfigError for a name that is
    no landmark network's and for a wrong description, ModelError where a file does not fit.
    """
    if is_description(name):
        from mpflow.models.described_landmarks import DescribedLandmarks, load_landmarks
        from mpflow.models.sockets import Origin

        points = load_landmarks(Path(name))
        origin = Origin(Path(name), file or Path(points.file))
        return DescribedLandmarks(session, points, origin)
    return LANDMARKERS[_known(name)](session)


def landmarker_file(name: str, stored: Callable[[str], Path]) -> Path:
    """The file of the network ``name``: of the store, asked by ``stored``, or as described."""
    if is_description(name):
        from mpflow.models.described_landmarks import load_landmarks

        return load_landmarks(Path(name)).found(Path(name))
    return stored(_known(name))


def _known(name: str) -> str:
    if name not in LANDMARKERS:
        raise ConfigError(
            f"{name!r} is no landmark network",
            cure=f"known: {', '.join(LANDMARKERS)}, or the path of a description that ends in "
            ".yaml",
        )
    return name


def _engines(folder: Path, choice: Choice) -> Engines:
    """Where a runtime that builds engines keeps them: one for every number of crops."""
    if is_description(choice.model):
        from mpflow.models.described_landmarks import load_landmarks

        side = load_landmarks(Path(choice.model)).input.side
    else:
        side = LANDMARKERS[_known(choice.model)].side
    return Engines.for_pictures(folder, choice.crops, side, side, side)
