"""What the workers of one job share: the ring, its bells, the analysis log; and each one's task."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mpflow.graph import MIB, Demand, cut_batches, cut_holds
from mpflow.importer import check_input
from mpflow.launch import Handle
from mpflow.orders import Task
from mpflow.provision import make_ring, shortage
from mpflow.recall import begin_log
from mpflow.shm import Bell, Segment, read_stats
from mpflow.spec import JobSpec, MediaInfo, PipelineSpec, Place, Rules


@dataclass
class JobRing:
    """Made once a job's input is known and every worker has said what it needs."""

    segment: Segment
    bells: list[Bell]
    batches: Sequence[int]
    holds: Sequence[int]
    remembers: bool
    log: int
    sound: tuple[socket.socket, ...] = ()
    """Both ends of what carries the sound of a live run past the frames."""

    @classmethod
    def make(
        cls,
        spec: PipelineSpec,
        job: JobSpec,
        media: MediaInfo,
        demands: Sequence[Demand],
        tell: Callable[[str, str], None],
    ) -> JobRing:
        """Make everything; ``tell`` takes what should be known.

        Raises ResourceError or Refused, and ConfigError for what the input does not have.
        """
        check_input(spec.stages, job, media)
        segment = make_ring(spec, media.video, demands)
        try:
            log = begin_log(job, demands)
        except BaseException:
            segment.close()
            raise
        geometry = segment.geometry
        tell("debug", f"ring of {geometry.slots} slots, {geometry.total_bytes / MIB:.0f} MiB")
        if text := shortage(spec, demands, geometry.slots):
            tell("warning", text)
        bells = [Bell.create() for _ in spec.stages]
        remembers = any(demand.remembers for demand in demands)
        batches = cut_batches(demands, geometry.slots)
        holds = cut_holds(demands, geometry.slots)
        sound = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) if spec.live else ()
        return cls(segment, bells, batches, holds, remembers, log, sound)

    def descriptors(self, stage: int) -> list[int]:
        """What a worker of a stage is given of it, in the order of its ``begin``.

        The two ends of a live run get their end of the sound behind everything else.
        """
        ends = {0: self.sound[:1], len(self.bells) - 1: self.sound[1:]}
        sound = [end.fileno() for end in ends.get(stage, ())]
        return [self.segment.fd, self.log, *(bell.fileno() for bell in self.bells), *sound]

    def task(self, spec: PipelineSpec, job: JobSpec, media: MediaInfo, worker: int) -> Task:
        """One worker's part of the job, without what differs from time to time."""
        rules = Rules(
            spec.retries,
            spec.on_failure,
            spec.no_face_for,
            self.batches[worker],
            self.holds[worker],
            live=spec.live,
            max_latency=spec.max_latency,
            ttl=spec.lifetime,
        )
        source, *ops = [stage.name for stage in spec.stages]
        return Task(job, media, source, tuple(ops), rules, remembers=self.remembers)

    def source_place(self, source: int) -> Place:
        """Where a fresh source goes on: at the next frame to publish."""
        damaged = read_stats(self.segment)[source].damaged
        return Place(self.segment.published, counted=damaged > 0)

    def frames_of(self, worker: int) -> int:
        """Frames that a worker has given on, whoever was it."""
        return read_stats(self.segment)[worker].frames

    def close(self) -> None:
        """Let go of everything."""
        self.segment.close()
        os.close(self.log)
        for end in self.sound:
            end.close()
        for bell in self.bells:
            bell.close()


def demands_of(workers: Sequence[Handle]) -> list[Demand]:
    """What each worker asks of the ring; one that is not needed at present may ask for as much
    as the others of its stage later."""
    said = {handle.plan.stage: handle.demand for handle in workers if handle.needed}
    return [
        handle.demand if handle.needed else replace(said[handle.plan.stage], spare=True)
        for handle in workers
    ]
