"""A swapper that knows its sources, and the faces of a batch that get another by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mpflow.errors import ConfigError
from mpflow.models.detections import Floats
from mpflow.swapping.contract import Made, Source, Swapper, Target
from mpflow.swapping.targets import faded, target_of
from mpflow.tokens import Face

if TYPE_CHECKING:
    from mpflow.frame import Frame

Photos: TypeAlias = tuple[Path, ...]
"""What a source is known by: the files of its photos."""


@dataclass(slots=True)
class Part:
    """A face that gets another: its number in frame and batch, whose, and so much of it is seen;
    what was made, if anything."""

    at: tuple[int, int]
    photos: Photos
    target: Target
    share: float
    made: Made | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """A swapper, and what it takes of each source, by the source's photos."""

    swapper: Swapper
    prepared: Mapping[Photos, Any]

    @classmethod
    def of(cls, swapper: Swapper, sources: Mapping[Photos, Source]) -> Cast:
        """Prepare all sources; raises ConfigError for one that is of no use to the swapper."""
        prepared = {}
        for photos, source in sources.items():
            try:
                prepared[photos] = swapper.prepare(source)
            except ConfigError as error:  # a source does not know its photos' names
                named = ", ".join(repr(str(each)) for each in photos)
                raise ConfigError(f"no source: {named} {error.what}", cure=error.cure) from error
        return cls(swapper, prepared)

    def target(self, frame: Frame, face: Face, mesh: Floats | None) -> Target:
        """A face of a frame as the swapper takes it."""
        return target_of(frame, face, mesh, self.swapper.template, self.swapper.size)

    def make(self, parts: Sequence[Part]) -> None:
        """Make the faces of all parts, together."""
        if not parts:
            return
        prepared = [self.prepared[part.photos] for part in parts]
        made = self.swapper.swap([part.target for part in parts], prepared)
        for part, face in zip(parts, made, strict=True):
            part.made = face and faded(face, part.target.crop, part.share)
