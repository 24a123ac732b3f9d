"""Whether the whole machine is short of memory or of time on its CPUs, whoever uses it up.

All cores at work are what a file run is for, so they count in live runs only: there it means that
the next small burden makes frames late.
"""

from __future__ import annotations

from dataclasses import dataclass

from mpflow.policies.latch import OFF, Latch, push_of
from mpflow.snapshot import Snapshot

MEMORY_HIGH, MEMORY_LOW = 0.92, 0.85
"""Shares of the memory that is to be had. What is left above must do for one more model's work."""

MEMORY_AFTER_S, MEMORY_OVER_S = 2.0, 10.0
"""Memory runs out fast and ends the run, so little time is given."""

CPU_HIGH, CPU_LOW = 0.97, 0.85
CPU_AFTER_S, CPU_OVER_S = 10.0, 10.0
"""A key frame or another program's start keeps all cores busy for a moment; that is no trouble."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """What the machine is short of. ``calm`` says that memory and CPUs are under their low marks,
    so that more may be asked of them; ``why`` is a part of a sentence, empty without pressure."""

    memory: bool = False
    cpu: bool = False
    calm: bool = True
    why: str = ""

    @property
    def high(self) -> bool:
        """Whether it is short of anything."""
        return self.memory or self.cpu


@dataclass(frozen=True, slots=True)
class PressureState:
    """A switch for each of the two."""

    memory: Latch = OFF
    cpu: Latch = OFF


def feel(state: PressureState, snapshot: Snapshot, now: float) -> tuple[PressureState, Pressure]:
    """What the machine is short of at one moment."""
    of_memory = push_of(snapshot.memory_share, low=MEMORY_LOW, high=MEMORY_HIGH)
    of_cpu = push_of(snapshot.cpu_share, low=CPU_LOW, high=CPU_HIGH) if snapshot.live else -1
    memory = state.memory.look(of_memory, now, on_after=MEMORY_AFTER_S, off_after=MEMORY_OVER_S)
    cpu = state.cpu.look(of_cpu, now, on_after=CPU_AFTER_S, off_after=CPU_OVER_S)
    pressure = Pressure(
        memory.on, cpu.on, of_memory < 0 and of_cpu < 0, _why(memory.on, cpu.on, snapshot)
    )
    return PressureState(memory, cpu), pressure


def _why(memory: bool, cpu: bool, snapshot: Snapshot) -> str:
    if memory:
        return f"{snapshot.memory_share:.0%} of the memory is in use"
    return f"{snapshot.cpu_share:.0%} of the CPU time is in use" if cpu else ""
