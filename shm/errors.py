"""What can go wrong at the ring, one class for each kind. Every error carries its facts.

ShmError
  Misuse            the caller broke the rules: a fault in the code above
  NotASegment       the descriptor is something else, or of another build
  Resource          the machine has too little: the caller may make the ring smaller
  LockTimeout       somebody keeps the lock: ``holder`` says who
"""

from __future__ import annotations


class ShmError(Exception):
    """Base of all errors of the ring; ``facts`` holds what the sentence was made from."""

    def __init__(self, what: str, **facts: int | float | str | None) -> None:
        super().__init__(what)
        self.facts = facts


class Misuse(ShmError):
    """The caller broke a rule of the ring; the ring itself is still whole."""


class LeaseEnded(Misuse):
    """A lease was used after it was given on, freed, retired or published."""


class DoubleRelease(LeaseEnded):
    """A lease was released a second time."""


class ForeignLease(Misuse):
    """A lease was handed to a ring that did not make it."""


class WrongStage(Misuse):
    """The operation does not belong to this stage: only the source publishes, and so on."""


class WrongThread(Misuse):
    """Another thread than the one that made the ring called it (the lock is per process)."""


class OneSlotOnly(Misuse):
    """The source asked for a second slot while it still holds one."""


class TokenTooLarge(Misuse):
    """The token does not fit its bank."""


class ViewSurvives(Misuse):
    """A lease was released, or its work undone, while an array made from it is alive.

    A released lease has ended all the same; its slot is freed by ``Ring.reap`` once the array
    died. A lease whose work could not be undone goes on.
    """


class ViewOutside(Misuse):
    """The view asked for reaches outside the slot."""


class JournalTooSmall(Misuse):
    """The pixels about to change do not fit the worker's journal."""


class JournalBusy(Misuse):
    """A worker began to change a second frame before it gave the first one on."""


class BadGeometry(Misuse):
    """The numbers asked for do not fit the fields of a word."""


class UnknownWorker(Misuse):
    """A worker, stage or bell number outside the segment's geometry."""


class DurableUnknown(Misuse):
    """A dead sink cannot be recovered without the first frame that no durable chunk holds."""


class SegmentClosed(Misuse):
    """The segment was closed, or belongs to the process this one was forked from."""


class NotHolder(ShmError):
    """The slot's word is not what its holder left there: it was recovered, or overwritten."""


class EpochsExhausted(ShmError):
    """The sink was restarted more often than a word's epoch can count."""


class NotASegment(ShmError):
    """The descriptor does not name a frame ring."""


class WrongVersion(NotASegment):
    """The segment was laid out by another version of this room."""


class WrongGeometry(NotASegment):
    """The segment's size contradicts the geometry written in it."""


class NoSpace(ShmError):
    """Shared memory is too small: ``needed`` and ``available`` are bytes."""

    def __init__(self, *, needed: int, available: int) -> None:
        super().__init__(
            f"the frame ring needs {needed} bytes of shared memory, {available} are available",
            needed=needed,
            available=available,
        )
        self.needed = needed
        self.available = available


class LockTimeout(ShmError):
    """The lock was not free within the deadline; ``holder`` is the id of who has it, or 0."""

    def __init__(self, *, holder: int, waited: float) -> None:
        super().__init__(
            f"the ring's lock was kept by process {holder} for {waited:.3f} s",
            holder=holder,
            waited=waited,
        )
        self.holder = holder
        self.waited = waited
