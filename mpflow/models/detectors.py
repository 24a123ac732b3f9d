"""Face detectors by the names they have in the manifest, or by the path of a description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mpflow.errors import ConfigError
from mpflow.models.centerface import CenterFace
from mpflow.models.description import is_description
from mpflow.models.detections import Detector
from mpflow.models.yunet import YuNet

DETECTORS: Mapping[str, type[YuNet] | type[CenterFace]] = {
    "yunet": YuNet,
    "centerface": CenterFace,
}


def detector(  # noqa: PLR0913 - one name for each choice
    name: str,
    session: Any,
    *,
    score: float | None = None,
    iou: float | None = None,
    file: Path | None = None,
    most: int = 2,
) -> Detector:
    """The detector ``name`` around its session; ``score`` and ``iou`` None take its own.

    ``file`` is what the session was opened with, for errors; at ``most`` so many pictures come in
    one call. Raises ConfigError for a name that is
    no detector's, and for a description that is wrong; ModelError where a file does not fit it.
    """
    if is_description(name):
        from mpflow.models.described import DescribedDetector, load
        from mpflow.models.sockets import Origin

        path = Path(name)
        make = load(path)
        origin = Origin(path, file or Path(make.file))
        return DescribedDetector(session, make, origin, score, iou, most=most)
    if name not in DETECTORS:
        raise ConfigError(
            f"{name!r} is no face detector",
            cure=f"known: {', '.join(DETECTORS)}, or the path of a description that ends in .yaml",
        )
    given = {key: value for key, value in (("score", score), ("iou", iou)) if value is not None}
    return DETECTORS[name](session, **given)


def detector_file(name: str, stored: Callable[[str], Path]) -> Path:
    """The file of the detector ``name``: of the store, asked by ``stored``, or as described."""
    if not is_description(name):
        return stored(name)
    from mpflow.models.described import load

    return load(Path(name)).found(Path(name))
