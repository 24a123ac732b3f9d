"""The ring for one input: as many slots as help, within the memory that may be used.

what --memory says, what /dev/shm has, what machine and cgroup have left -> the least of them
-> slots -> the memory is taken at once, so that no write to it can fail later
   another program took it meanwhile -> once more with what is left now
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from mpflow.errors import ResourceError
from mpflow.graph import (
    MIB,
    Demand,
    comfortable_slots,
    cut_batches,
    cut_holds,
    minimum_slots,
    patient_slots,
    plan_workers,
    ring_slots,
    side_bytes,
    uncut_slots,
)
from mpflow.machine import memory_available, shared_memory_free
from mpflow.picture import PictureLayout
from mpflow.shm import BadGeometry, Geometry, NoSpace, Segment, sweep
from mpflow.spec import PipelineSpec, VideoInfo

PAGE = 4096
SHM_SHARE = 0.9
MEMORY_SHARE = 0.5
ASKED_SHARE = 0.9
"""What a run takes at most: of free shared memory; of free memory unasked, and when asked."""

LIVE_PAUSE_S = 0.5
LIVE_RATE, MOST_RATE = 30, 240
"""A live run bears a pause so long without losing a picture; the rate where none is known, and the
largest that is believed."""

ATTEMPTS = 3
"""How often a ring is tried while others fill the shared memory."""

_SHM_CURE = "free or enlarge /dev/shm (in a container: --shm-size)"
_MEMORY_CURE = "free memory, or raise the limit of the container or job"
_ASKED_CURE = "raise --memory"


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes that the ring may take, and what to do if they are too few."""

    size: int
    cure: str

    @classmethod
    def now(cls, spec: PipelineSpec) -> Budget:
        """The least of what is free, and of what the user gave."""
        share = ASKED_SHARE if spec.memory else MEMORY_SHARE
        budgets = [
            cls(int(shared_memory_free() * SHM_SHARE), _SHM_CURE),
            cls(int(memory_available() * share), _MEMORY_CURE),
        ]
        if spec.memory:
            budgets.append(cls(spec.memory * MIB, _ASKED_CURE))
        return min(budgets, key=lambda budget: budget.size)


def make_ring(spec: PipelineSpec, video: VideoInfo, demands: Sequence[Demand]) -> Segment:
    """Make the ring for pictures of ``video`` between workers of these demands.

    Raises ResourceError with the figures when not even the smallest ring fits.
    """
    # a run that was killed in the moment its memory had a name left it behind
    sweep()
    attempts = ATTEMPTS
    while True:
        geometry = _geometry(spec, video, demands, Budget.now(spec))
        try:
            return Segment.create(geometry)
        except NoSpace as error:
            # another program was faster: once more, with what it has left
            attempts -= 1
            if not attempts:
                raise ResourceError(f"shared memory is full: {error}", cure=_SHM_CURE) from error


def shortage(spec: PipelineSpec, demands: Sequence[Demand], slots: int) -> str:
    """What a ring of so many slots costs, as a sentence; empty while every batch fits in it."""
    before = tuple(demand.max_batch for demand in demands)
    after = cut_batches(demands, slots)
    one_each = uncut_slots(demands) + len(demands)
    if after == before and slots >= one_each:
        return ""
    cut = f", and batches are cut from {max(before)} to {max(after)} frames"
    return (
        f"the frame ring has {slots} slots where {comfortable_slots(demands)} would help"
        f"{'' if after == before else cut}: it may run slower"
        f"{''.join(_less_ahead(spec, demands, slots))}"
    )


def _less_ahead(spec: PipelineSpec, demands: Sequence[Demand], slots: int) -> list[str]:
    """Whose look-ahead is cut in a ring of so many slots, and what that costs, each once."""
    holds = cut_holds(demands, slots)
    told = {
        plan.spec.name: f"; {plan.spec.name} keeps {most} frames back instead of {demand.holds}"
        f"{demand.less_ahead and f': {demand.less_ahead}'}"
        for plan, demand, most in zip(plan_workers(spec), demands, holds, strict=True)
        if most < demand.holds
    }
    return list(told.values())


def _wanted(spec: PipelineSpec, video: VideoInfo, demands: Sequence[Demand]) -> int:
    """The slots a live run had better have; 0 leaves it to what the stages need."""
    if not spec.live:
        return 0
    rate = video.average_rate or (LIVE_RATE, 1)
    seconds = min(spec.max_latency, LIVE_PAUSE_S)
    slots = patient_slots(demands, min(rate[0] / rate[1], MOST_RATE), seconds)
    return max(slots, minimum_slots(demands))


def ring_of(
    layout: PictureLayout, spec: PipelineSpec, demands: Sequence[Demand], slots: int
) -> Geometry:
    """A ring of so many slots for pictures of a layout; raises BadGeometry if they are too large.

    Whoever changes pixels has a journal. A frame saves boxes up to a picture's worth, then the
    picture itself (Frame.edit).
    """
    changing = [worker for worker, demand in enumerate(demands) if demand.changes_pixels]
    return Geometry(
        slots=slots,
        slot_bytes=layout.nbytes,
        stages=len(spec.stages),
        workers=len(demands),
        journal_bytes=2 * layout.nbytes + PAGE,
        first_journal=min(changing, default=0),
        journals_end=max(changing, default=-1) + 1,
        side_bytes=side_bytes(spec, demands),
    )


def _geometry(
    spec: PipelineSpec, video: VideoInfo, demands: Sequence[Demand], budget: Budget
) -> Geometry:
    """Lay out as many slots as help and fit."""
    layout = PictureLayout.of(video.pixel_format, video.width, video.height)
    geometry = partial(ring_of, layout, spec, demands)
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
        asked=spec.slots or _wanted(spec, video, demands),
        budget=budget.size,
        cure=budget.cure,
    )
    return geometry(slots)
