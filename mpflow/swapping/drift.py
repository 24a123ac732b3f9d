"""Does a made face still look like its source? Looked at now and then along each track.

    made face, laid over its crop -> embedding -> the nearest of the source's photos -> cosine

What is compared is what will be seen, colours and edges as ``blend`` joins them by default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mpflow.models.align import crop
from mpflow.models.detections import Floats
from mpflow.models.embedders import Embedder
from mpflow.swapping.cast import Photos
from mpflow.swapping.compose import Blending, compose, laid_over
from mpflow.swapping.contract import Made, Target
from mpflow.swapping.masks import least, outline_mask

_BLENDING = Blending()
_WHOLE_FACE = 468
_FORGET_S = 60.0


class Drift:
    """The looks at made faces; one at a track's first good frame, then every ``seconds``."""

    def __init__(
        self, embedder: Embedder, sources: Mapping[Photos, Floats], limit: float, seconds: float
    ) -> None:
        self._embedder = embedder
        self._sources = sources
        self._limit = limit
        self._seconds = seconds
        self.begin()

    def begin(self) -> None:
        """No track has been looked at."""
        self._last: dict[int | None, float] = {}
        self._found: list[float] = []
        self.again = self.flagged = 0

    def tune(self, limit: float, seconds: float) -> None:
        """Go on with another limit, and look at other intervals."""
        self._limit, self._seconds = limit, seconds

    def due(self, track: int | None, time: float) -> bool:
        """Whether the face of a track is to be looked at, on a frame at ``time`` seconds."""
        if not self._limit:
            return False
        last = self._last.get(track)
        if last is not None and 0 <= time - last < self._seconds:
            return False
        near = {each: at for each, at in self._last.items() if abs(time - at) < _FORGET_S}
        self._last = {**near, track: time}
        return True

    def below(self, cosine: float) -> bool:
        """Whether that is less than a made face has to have."""
        return cosine < self._limit

    def note(self, cosine: float) -> None:
        """Take in how like its source a face is as it is given on."""
        self._found.append(cosine)
        self.flagged += self.below(cosine)

    def cosine(self, target: Target, made: Made, source: Photos) -> float:
        """How like its source a face is."""
        outline = None
        if target.mesh is not None and len(target.mesh) >= _WHOLE_FACE:
            outline = outline_mask(target.mesh[:, :2], len(made.mask))
        masked = Made(made.picture, least(made.mask, outline))
        seen = laid_over(target.crop, *compose(target.crop, masked, _BLENDING))
        face = crop(seen, target.points, self._embedder.size)
        return float((self._embedder.embed([face]) @ self._sources[source].T).max())

    def facts(self) -> dict[str, Any]:
        """How cosines are spread over the looks, for the report."""
        facts = {"looks": len(self._found), "limit": self._limit}
        if self._found:
            facts |= _spread(self._found) | {"made_again": self.again, "below": self.flagged}
        return facts


def _spread(values: Sequence[float]) -> dict[str, float]:
    names = {"least": 0, "p10": 10, "p50": 50, "p90": 90, "most": 100}
    shares = np.percentile(values, list(names.values()))
    return {name: round(float(value), 3) for name, value in zip(names, shares, strict=True)}
