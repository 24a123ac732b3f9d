"""Landmark networks by the names they have in the manifest, opened as a stage's options ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from mpflow.errors import ConfigError
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
        """A name of the manifest."""

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

    Raises ConfigError for a model that is none; ModelError for a file that cannot be had or does
    not fit.
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
    return landmarker(choice.model, session), facts


def landmarker(name: str, session: Any) -> LandmarkModel:
    """The landmark network ``name`` around its session.

    Raises ConfigError for a name that is no landmark network's, ModelError where a file does not
    fit.
    """
    return LANDMARKERS[_known(name)](session)


def landmarker_file(name: str, stored: Callable[[str], Path]) -> Path:
    """The file of the landmark network ``name``, from the store, asked by ``stored``."""
    return stored(_known(name))


def _known(name: str) -> str:
    if name not in LANDMARKERS:
        raise ConfigError(
            f"{name!r} is no landmark network", cure=f"known: {', '.join(LANDMARKERS)}"
        )
    return name


def _engines(folder: Path, choice: Choice) -> Engines:
    """Where a runtime that builds engines keeps them: one for every number of crops."""
    side = LANDMARKERS[_known(choice.model)].side
    return Engines.for_pictures(folder, choice.crops, side, side, side)
