"""Who works where, and how large the ring must be.

Worker numbers run through the whole pipeline, source first. A ring that is too small deadlocks:
every slot could be held by a stage that waits for one more frame. So its minimum is what all
workers may hold at once, plus one.

    enough for all      batches as asked, every stage looks as far ahead as it likes
    fewer slots         smaller batches; then, below what all hold, less look-ahead, the farthest
                        first, down to what each stage can do with
    fewer than that     no ring
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from mpflow.errors import ResourceError
from mpflow.spec import PipelineSpec, StageSpec

MIB = 1 << 20
SLACK_SLOTS = 6
"""Free slots beyond what the stages hold, so that a short stall of one does not stop another."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What one worker asks of the ring and of the supervisor, as it says when it is ready.

    ``holds`` frames are kept back at most; with ``least_holds`` it does too (None: it cannot do
    with fewer), and ``less_ahead`` says what that costs. ``side_bytes`` is for arrays beside each
    picture. A ``spare`` one does not work at present, and may later.
    """

    holds: int = 0
    max_batch: int = 1
    changes_pixels: bool = False
    restartable: bool = False
    remembers: bool = False
    side_bytes: int = 0
    spare: bool = False
    least_holds: int | None = None
    less_ahead: str = ""

    @property
    def least(self) -> int:
        """The fewest frames that it has to be able to keep back."""
        return self.holds if self.least_holds is None else min(self.least_holds, self.holds)


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """One worker: its number in the ring, its stage, and which of the stage's workers it is."""

    id: int
    stage: int
    stages: int
    number: int
    spec: StageSpec

    @property
    def label(self) -> str:
        """How logs and messages name it."""
        return self.spec.name if self.spec.workers == 1 else f"{self.spec.name}/{self.number}"


def plan_workers(spec: PipelineSpec) -> tuple[WorkerPlan, ...]:
    """Number every worker of a pipeline, source first."""
    plans: list[WorkerPlan] = []
    for index, stage in enumerate(spec.stages):
        for number in range(stage.workers):
            plans.append(WorkerPlan(len(plans), index, len(spec.stages), number, stage))
    return tuple(plans)


def worker_threads(plan: WorkerPlan, cores: int) -> int:
    """Threads one worker may use.

    The codecs at both ends have threads of their own and may use every core. A stage between
    them gets a quarter: all stages run at once, and a small network gains little from a second
    thread (a fifth at 640x384) while it takes the core from the encoder.
    """
    at_an_end = plan.stage in (0, plan.stages - 1)
    return cores if at_an_end else max(1, cores // 4)


def side_bytes(spec: PipelineSpec, demands: Sequence[Demand]) -> int:
    """The bytes beside each picture: what the stages may keep there, one behind the other."""
    pairs = zip(plan_workers(spec), demands, strict=True)
    by_stage = {plan.stage: demand.side_bytes for plan, demand in pairs}
    return sum(by_stage.values())


def minimum_slots(demands: Sequence[Demand]) -> int:
    """The fewest slots that cannot deadlock: all that has to be held back, plus one."""
    return sum(demand.least for demand in demands) + 1


def uncut_slots(demands: Sequence[Demand]) -> int:
    """The fewest slots in which every stage looks as far ahead as it likes."""
    return sum(demand.holds for demand in demands) + 1


def comfortable_slots(demands: Sequence[Demand]) -> int:
    """Enough that every worker has a batch in hand and, unless it is spare, one in front of it."""
    batches = sum(demand.max_batch * (1 if demand.spare else 2) for demand in demands)
    return uncut_slots(demands) + batches + SLACK_SLOTS


def patient_slots(demands: Sequence[Demand], rate: float, seconds: float) -> int:
    """Enough besides that a live source which gives ``rate`` pictures a second finds a slot for
    each while a stage pauses for so long, for a key frame or a busy machine."""
    return comfortable_slots(demands) + ceil(rate * seconds)


def cut_holds(demands: Sequence[Demand], slots: int) -> tuple[int, ...]:
    """How many frames each worker may keep back in a ring of so many slots.

    The farthest look-ahead is cut first, until all of them and one more frame fit; none is below
    what its stage can do with.
    """
    most = max((demand.holds for demand in demands), default=0)
    while True:
        holds = tuple(max(demand.least, min(demand.holds, most)) for demand in demands)
        if most <= 0 or sum(holds) < slots:
            return holds
        most -= 1


def cut_batches(demands: Sequence[Demand], slots: int) -> tuple[int, ...]:
    """The largest batch of each worker in a ring of so many slots; 1 at least.

    A batch that the ring cannot fill beside all that is held back waits for frames in vain. So
    the largest batches are cut first, until one of each fits.
    """
    room = slots - sum(cut_holds(demands, slots)) - 1
    sizes = [demand.max_batch for demand in demands]
    most = max(sizes, default=1)
    while most > 1 and sum(min(size, most) for size in sizes) > room:
        most -= 1
    return tuple(min(size, most) for size in sizes)


def ring_slots(  # noqa: PLR0913 - the figures of one sum
    demands: Sequence[Demand],
    *,
    bytes_per_slot: int,
    fixed_bytes: int,
    asked: int,
    budget: int,
    cure: str = "free or enlarge /dev/shm (in a container: --shm-size), or raise --memory",
) -> int:
    """How many slots the ring gets within ``budget`` bytes; ``asked`` 0 means as many as help.

    Raises ResourceError with the figures and the ``cure`` when not even the minimum fits, or
    ``asked`` is below it.
    """
    least = minimum_slots(demands)
    if asked and asked < least:
        raise ResourceError(
            f"a ring of {asked} slots is too small: the stages have to hold {least - 1} at once",
            cure=f"use at least {least} slots, or smaller batches",
        )
    fitting = (budget - fixed_bytes) // bytes_per_slot
    if fitting < least:
        needed = fixed_bytes + least * bytes_per_slot
        raise ResourceError(
            f"the frame ring needs {needed / MIB:.0f} MiB of shared memory,"
            f" {max(budget, 0) / MIB:.0f} MiB may be used",
            cure=cure,
        )
    return min(asked or comfortable_slots(demands), fitting)
