"""What a job's report says: frames in and out, times, and what each stage did and waited for."""

from __future__ import annotations

from typing import Any

import msgspec

from mpflow.spec import Value


class StageReport(Value, frozen=True):
    """One stage over one job: all its workers together, times in seconds.

    ``busy`` is time spent working; ``waiting`` is time without a frame to work on (for the source:
    without a free slot). ``idle_ratio`` is waiting over both. ``facts`` are what the stage itself
    reported, the provider that ran a model for example.
    """

    name: str
    workers: int = 1
    frames: int = 0
    batches: int = 0
    busy: float = 0.0
    waiting: float = 0.0
    facts: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def idle_ratio(self) -> float:
        """Waiting over the whole, 0..1."""
        whole = self.busy + self.waiting
        return self.waiting / whole if whole else 0.0


class Report(Value, frozen=True):
    """One job. ``frames_read`` left the source, ``frames_written`` reached the sink.

    ``damaged`` packets and frames were skipped by the decoder; ``frames_expected`` is what the
    container promised. ``partial`` names an unfinished output that was kept; ``playable`` says
    whether a player can open it. ``faces`` counts every sighting of a face, ``frames_with_faces``
    the frames that had one. ``slots`` is the size of the ring, ``leases_left`` how many of
    them were not free at the end: 0 after every complete job.
    """

    job: str
    input: str
    output: str = ""
    partial: str = ""
    playable: bool = False
    complete: bool = False
    frames_read: int = 0
    frames_written: int = 0
    frames_expected: int | None = None
    damaged: int = 0
    size: int = 0
    seconds: float = 0.0
    first_frame_seconds: float | None = None
    faces: int = 0
    frames_with_faces: int = 0
    slots: int = 0
    leases_left: int = 0
    stages: tuple[StageReport, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def frames_per_second(self) -> float:
        """Frames written over the time the job took."""
        return self.frames_written / self.seconds if self.seconds else 0.0

    @property
    def bottleneck(self) -> StageReport | None:
        """The stage that was busiest per worker: the others wait for it."""
        working = [stage for stage in self.stages if stage.busy]
        return max(working, key=lambda stage: stage.busy / stage.workers, default=None)
