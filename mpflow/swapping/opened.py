"""Swappers by what a stage's options call them.

mesh            the source's skin over the target's mesh; no weights (mpflow.swapping.meshwarp)
NAME.yaml       a network of one's own, by its description (mpflow.swapping.described)
NAME.onnx       an INSwapper file, which needs none
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

from mpflow.errors import ConfigError
from mpflow.models.store import ModelStore
from mpflow.swapping.contract import Swapper

MESH = "mesh"
MESH_SIDE = 256
"""Pixels of a side of the crops that skin is drawn into, unless another number is asked for."""

_FILES = (".yaml", ".yml", ".onnx")


def is_network(model: str) -> bool:
    """Whether a swapper is a network's."""
    return model != MESH


def check_model(model: str, size: int) -> None:
    """Raise ConfigError for a swapper that is none, and for a size that a network has itself."""
    if is_network(model) and not model.endswith(_FILES):
        raise ConfigError(
            f"{model!r} is no swapper",
            cure=f"known: {MESH}, the path of an INSwapper file that ends in .onnx, or of a"
            " description that ends in .yaml (docs/models.md)",
        )
    if is_network(model) and size:
        raise ConfigError(
            f"{model!r} takes crops of a size of its own", cure=f"leave out size={size}"
        )


class Choice(Protocol):
    """What the options of a stage that swaps say; see mpflow.stages.swap."""

    @property
    def model(self) -> str:
        """``mesh``, or the path of a file."""

    @property
    def device(self) -> str:
        """See mpflow.models.sessions."""

    @property
    def providers(self) -> tuple[str, ...]:
        """See mpflow.models.sessions."""


def open_swapper(
    choice: Choice,
    size: int,
    store: ModelStore,
    *,
    threads: int = 1,
    warn: Callable[[str], None] | None = None,
) -> tuple[Swapper, dict[str, Any]]:
    """The swapper of a choice for crops of ``size`` pixels (0 is its own size), and the facts of
    how it runs; none for one that is no network.

    Raises ConfigError as ``check_model`` does and for a wrong description, ModelError for a file
    that cannot be had or does not fit.
    """
    check_model(choice.model, size)
    if not is_network(choice.model):
        from mpflow.swapping.meshwarp import MeshWarp

        return MeshWarp(size or MESH_SIDE), {}
    from mpflow.swapping import described

    swapper, facts = described.open_swapper(
        Path(choice.model),
        store,
        device=choice.device,
        providers=choice.providers,
        threads=threads,
        warn=warn,
    )
    return swapper, asdict(facts)
