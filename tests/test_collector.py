"""How a worker's batches form: on a ring of its own, with a clock that stands still."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from mpflow import collector
from mpflow.batcher import Batching, BatchPolicy
from mpflow.collector import Collector
from mpflow.spec import Helm
from mpflow.tokens import Mode

MS = 1_000_000


@dataclass
class Clock:
    """Nanoseconds that pass only while somebody waits."""

    now: int = 0

    def monotonic_ns(self) -> int:
        return self.now


@dataclass
class Bench:
    """Stands for a desk and its ring: ``comes`` says what is READY at which millisecond."""

    clock: Clock
    comes: dict[int, list[Any]]
    idle: bool = False
    empty: bool = False
    helm: Helm = field(default_factory=Helm)
    waits: list[float] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    name: str = "detect"

    def __post_init__(self) -> None:
        self.ring = self
        self.orders = SimpleNamespace(over=False, helm=self.helm)
        self.meter = SimpleNamespace(
            batch_limit=0, waited_for_input=lambda _: None, ran_out_of_memory=lambda: None
        )

    def take_batch(self, limit: int) -> list[Any]:
        ready = [(at, lease) for at in sorted(self.comes) for lease in self.comes[at]]
        taken = [lease for at, lease in ready if at * MS <= self.clock.now][:limit]
        self.comes = {
            at: [lease for lease in leases if lease not in taken]
            for at, leases in self.comes.items()
        }
        return taken

    def upstream_idle(self) -> bool:
        return self.idle

    def upstream_empty(self) -> bool:
        return self.empty

    def wait(self, seconds: float) -> int:
        """The bell rings with the next frame, or the time is over."""
        self.waits.append(seconds)
        until = self.clock.now + round(seconds * 1e9)
        coming = [at * MS for at, leases in self.comes.items() if leases]
        self.clock.now = min([until, *(at for at in coming if at > self.clock.now)])
        return 0

    def tell(self, kind: str, **values: Any) -> None:
        self.told.append(f"{kind} {values}")


def lease(seq: int, alone: bool = False) -> Any:
    return SimpleNamespace(seq=seq, alone=alone)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(collector, "time", clock)
    return clock


def collecting(bench: Bench, live: bool = False, batch: int = 4) -> Collector:
    made: Any = Collector
    return made(bench, Batching(), BatchPolicy(batch, 15 * MS), live=live)  # type: ignore[no-any-return]


def seqs(batch: list[Any]) -> list[int]:
    return [each.seq for each in batch]


def test_a_full_batch_waits_for_nothing(clock: Clock) -> None:
    bench = Bench(clock, {0: [lease(n) for n in range(6)]})
    batches = collecting(bench)
    assert seqs(batches.collect()) == [0, 1, 2, 3]
    assert bench.waits == []


@pytest.mark.parametrize("live", [False, True])
def test_a_batch_takes_what_comes_until_its_deadline(clock: Clock, live: bool) -> None:
    bench = Bench(clock, {0: [lease(0)], 5: [lease(1)], 14: [lease(2)], 16: [lease(3)]})
    assert seqs(collecting(bench, live).collect()) == [0, 1, 2]
    assert clock.now == 15 * MS


def test_a_file_run_waits_for_nothing_when_nothing_is_on_its_way(clock: Clock) -> None:
    bench = Bench(clock, {0: [lease(0)], 5: [lease(1)]}, idle=True)
    assert seqs(collecting(bench).collect()) == [0]
    assert bench.waits == []


def test_a_live_run_waits_although_nothing_is_on_its_way_yet(clock: Clock) -> None:
    bench = Bench(clock, {0: [lease(0)], 5: [lease(1)]}, idle=True)
    assert seqs(collecting(bench, live=True).collect()) == [0, 1]


def test_a_live_run_that_has_ended_waits_for_nothing(clock: Clock) -> None:
    bench = Bench(clock, {0: [lease(0)], 5: [lease(1)]}, idle=True, empty=True)
    assert seqs(collecting(bench, live=True).collect()) == [0]


def test_single_frame_mode_takes_one_and_waits_for_nothing(clock: Clock) -> None:
    helm = Helm(mode=Mode.SINGLE_FRAME)
    bench = Bench(clock, {0: [lease(0), lease(1)]}, helm=helm)
    batches = collecting(bench)
    assert seqs(batches.collect()) == [0]
    bench.orders.helm = Helm()
    assert seqs(batches.collect()) == [1]
    assert bench.waits == [0.015]


def test_a_suspect_that_comes_late_goes_by_itself_afterwards(clock: Clock) -> None:
    bench = Bench(clock, {0: [lease(3)], 5: [lease(1, alone=True)], 6: [lease(4)]})
    batches = collecting(bench)
    assert seqs(batches.collect()) == [3]
    assert clock.now == 5 * MS
    assert batches.has_put_by
    assert seqs(batches.collect()) == [1]
    assert not batches.has_put_by


def test_a_limit_holds_for_the_next_batch_and_a_larger_one_is_tried_later(clock: Clock) -> None:
    bench = Bench(clock, {0: [lease(n) for n in range(20)]})
    batches = collecting(bench, batch=8)
    assert len(batches.collect()) == 8
    batches.ran_out(8)
    assert bench.meter.batch_limit == 4
    assert len(batches.collect()) == 4
    clock.now = 10_000 * MS
    assert len(batches.collect()) == 8
    batches.worked(8)
    assert bench.meter.batch_limit == 8
    assert ["warning" in line for line in bench.told] == [False, True, False, False]


def test_a_probe_that_fails_says_nothing_and_waits_longer(clock: Clock) -> None:
    bench = Bench(clock, {0: [lease(n) for n in range(20)]})
    batches = collecting(bench, batch=8)
    batches.ran_out(8)
    told = len(bench.told)
    clock.now = 10_000 * MS
    batches.ran_out(8)
    assert (bench.meter.batch_limit, len(bench.told)) == (4, told)
    assert batches.policy.max_batch == 4
    clock.now = 29_999 * MS
    assert batches.policy.max_batch == 4
    clock.now = 30_000 * MS
    assert batches.policy.max_batch == 8
