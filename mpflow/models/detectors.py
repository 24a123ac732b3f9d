"""The detectors by the names they have in the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mpflow.errors import ConfigError
from mpflow.models.centerface import CenterFace
from mpflow.models.detections import Detector
from mpflow.models.yunet import YuNet

DETECTORS: Mapping[str, type[YuNet] | type[CenterFace]] = {
    "yunet": YuNet,
    "centerface": CenterFace,
}


def detector(name: str, session: Any, *, score: float | None = None, iou: float = 0.3) -> Detector:
    """The detector ``name`` around its session; ``score`` None takes the detector's own.

    Raises ConfigError for a name that is no detector's.
    """
    if name not in DETECTORS:
        raise ConfigError(f"{name!r} is no face detector", cure=f"known: {', '.join(DETECTORS)}")
    kind = DETECTORS[name]
    return kind(session, iou=iou) if score is None else kind(session, score, iou)
