"""How the two films of an audit are looked at: pipelines that nothing but the wish decides.

A run may be tuned by its surroundings (MPFLOW_DETECT__SCORE and so on). An audit may not: a
detector that is made blind, or another than the report names, would sign for anything.
"""

from __future__ import annotations

from typing import Any

from mpflow.audit.wish import CLOSE, FIRST, SECOND, Wish
from mpflow.config import resolve
from mpflow.spec import ONLY_SPEED, RunSpec

TRACKS, IDENTITIES, FINDS = "tracks", "identities", "detect-only"
"""Presets: for the input, for the input of an audit with a gallery, and for the output."""

_STRICT = {"on_failure": "fail", "degrade": "never", "ladder": ()}
"""A frame that cannot be looked at ends the audit, and no load makes it look less closely."""

_CLOSELY = {"detect.side": CLOSE, "detect.every": 1}
"""As closely as any preset looks, in every frame."""

_WEAK = {"detect.weak": 0.3}
"""A face of which the tracker knows is seen in the input by as little as presets see it by."""

_OF_THE_MACHINE = ONLY_SPEED | {"workers", "limit"}


def looking_at_input(wish: Wish) -> RunSpec:
    """How the input is looked at: by the first detector, with tracks and perhaps a gallery."""
    first: dict[str, Any] = {"detect.model": FIRST, **_WEAK}
    if wish.gallery is not None:
        first |= {"embed.gallery": str(wish.gallery), "embed.device": wish.device}
    preset = TRACKS if wish.gallery is None else IDENTITIES
    settings = _settings(preset, wish) | first
    return RunSpec(wish.source, preset=preset, set=settings, start=wish.start, stop=wish.stop)


def looking_at_output(wish: Wish) -> RunSpec:
    """How the output is looked at: by the second detector, from a low score on."""
    second = {"detect.model": SECOND, "detect.score": wish.limits.score}
    return RunSpec(wish.target, preset=FINDS, set=_settings(FINDS, wish) | second)


def _settings(preset: str, wish: Wish) -> dict[str, Any]:
    return {
        **_as_shipped(preset),
        **_STRICT,
        **_CLOSELY,
        "detect.size": wish.size,
        "detect.device": wish.device,
        "detect.workers": wish.workers,
        "offline": wish.offline,
    }


def _as_shipped(preset: str) -> dict[str, Any]:
    """Every option that decides what is seen, as the preset has it by itself."""
    values = resolve(preset, environ={}).values
    return {
        key: value
        for key, value in values.items()
        if "." in key and key.rpartition(".")[2] not in _OF_THE_MACHINE
    }
