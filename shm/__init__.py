"""The frame ring in shared memory: bytes and processes only. PROTOCOL.md says how it works.

Segment    the memory: create in the supervisor, attach in a worker
Ring       one worker's door: alloc, publish, take, work, journal, give, free, retire
Lease      the right to one slot, its token and its pixels
Bell       wakes the readers of a stage
recover    what the supervisor does about a dead worker
shed_stale, ready_ages, read_stats, read_times     what it does and sees while all live
"""

from mpflow.shm.ages import FrameAge, StageAges, frame_ages, ready_ages
from mpflow.shm.bell import Bell
from mpflow.shm.deathpipe import DeathPipe, arm
from mpflow.shm.dropping import shed_stale
from mpflow.shm.drops import Dropped, Why, drop_of
from mpflow.shm.errors import (
    BadGeometry,
    DoubleRelease,
    DurableUnknown,
    EpochsExhausted,
    ForeignLease,
    JournalBusy,
    JournalTooSmall,
    LeaseEnded,
    LockTimeout,
    Misuse,
    NoSpace,
    NotASegment,
    NotHolder,
    OneSlotOnly,
    SegmentClosed,
    ShmError,
    TokenTooLarge,
    UnknownWorker,
    ViewOutside,
    ViewSurvives,
    WrongGeometry,
    WrongStage,
    WrongThread,
    WrongVersion,
)
from mpflow.shm.histogram import Histogram
from mpflow.shm.journal import Span
from mpflow.shm.layout import RECORDS, Geometry
from mpflow.shm.lease import Lease
from mpflow.shm.order import Order
from mpflow.shm.recovery import Recovery, recover
from mpflow.shm.ring import Ring
from mpflow.shm.segment import Handle, Segment
from mpflow.shm.stats import COUNTS, Doing, Stats, Times, WorkerStats, read_stats, read_times
from mpflow.shm.sweep import Swept, sweep
from mpflow.shm.word import State, Word

__all__ = [
    "Segment",
    "Geometry",
    "Handle",
    "Ring",
    "Order",
    "Lease",
    "Span",
    "Bell",
    "Word",
    "State",
    "recover",
    "Recovery",
    "Stats",
    "WorkerStats",
    "Doing",
    "read_stats",
    "COUNTS",
    "RECORDS",
    "Times",
    "read_times",
    "Histogram",
    "Why",
    "Dropped",
    "drop_of",
    "shed_stale",
    "StageAges",
    "FrameAge",
    "ready_ages",
    "frame_ages",
    "DeathPipe",
    "arm",
    "sweep",
    "Swept",
    "ShmError",
    "Misuse",
    "BadGeometry",
    "DoubleRelease",
    "DurableUnknown",
    "EpochsExhausted",
    "ForeignLease",
    "JournalBusy",
    "JournalTooSmall",
    "LeaseEnded",
    "LockTimeout",
    "NoSpace",
    "NotASegment",
    "NotHolder",
    "OneSlotOnly",
    "SegmentClosed",
    "TokenTooLarge",
    "UnknownWorker",
    "ViewOutside",
    "ViewSurvives",
    "WrongGeometry",
    "WrongStage",
    "WrongThread",
    "WrongVersion",
]
