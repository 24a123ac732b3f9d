"""The ring for one input: as many slots as help, within the memory that may be used."""

from __future__ import annotations

from collections.abc import Sequence

from mpflow.errors import ResourceError
from mpflow.graph import MIB, Demand, ring_slots
from mpflow.machine import memory_available, shared_memory_free
from mpflow.picture import PictureLayout
from mpflow.shm import BadGeometry, Geometry, NoSpace, Segment
from mpflow.spec import PipelineSpec, VideoInfo

PAGE = 4096
SHM_SHARE = 0.9
MEMORY_SHARE = 0.5
"""What a run takes unasked: this share of the free shared memory, that share of free memory."""


def make_ring(spec: PipelineSpec, video: VideoInfo, demands: Sequence[Demand]) -> Segment:
    """Make the ring for pictures of ``video`` between workers of these demands.

    Raises ResourceError with the figures when not even the smallest ring fits.
    """
    layout = PictureLayout.of(video.pixel_format, video.width, video.height)
    # a frame saves boxes up to a picture's worth, then the picture itself (Frame.edit)
    journal = 2 * layout.nbytes + PAGE if any(d.changes_pixels for d in demands) else 0

    def geometry(slots: int) -> Geometry:
        return Geometry(
            slots=slots,
            slot_bytes=layout.nbytes,
            stages=len(spec.stages),
            workers=len(demands),
            journal_bytes=journal,
        )

    try:
        one, two = geometry(1).total_bytes, geometry(2).total_bytes
    except BadGeometry as error:
        raise ResourceError(
            f"pictures of {video.width}x{video.height} are too large for a ring: {error}",
            cure="scale the video down first",
        ) from error
    slots = ring_slots(
        demands,
        bytes_per_slot=two - one,
        fixed_bytes=one - (two - one),
        asked=spec.slots,
        budget=_budget(spec),
    )
    try:
        return Segment.create(geometry(slots))
    except NoSpace as error:
        raise ResourceError(
            f"shared memory is full: {error}",
            cure="free or enlarge /dev/shm (in a container: --shm-size), or use fewer slots",
        ) from error


def _budget(spec: PipelineSpec) -> int:
    """Bytes the ring may take: what the user gave, else a share of what is free."""
    free = int(shared_memory_free() * SHM_SHARE)
    if spec.memory:
        return min(free, spec.memory * MIB)
    return min(free, int(memory_available() * MEMORY_SHARE))
