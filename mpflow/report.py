"""What a job's report says: frames in and out, times, and what each stage did and waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from mpflow.accounts import Latency, LedgerSummary, StageLatency
from mpflow.spec import Value

_FEW_WARNINGS = 20
_LONGEST_WARNING = 500
"""What is left of warnings where a report would not fit otherwise; its log has all of them."""


class StageReport(Value, frozen=True):
    """One stage over one job: all its workers together, times in seconds.

    ``busy`` is time spent working; ``waiting`` is time without a frame to work on (for the source:
    without a free slot). ``idle_ratio`` is waiting over both. ``facts`` are what the stage itself
    reported, the provider that ran a model for example. ``latency`` is the frames' view: how long
    each was worked on, and waited before that. A stage that may grow has ``seats`` for so many
    workers (others: 0), of which ``workers`` were in use at the end.
    """

    name: str
    workers: int = 1
    frames: int = 0
    batches: int = 0
    busy: float = 0.0
    waiting: float = 0.0
    facts: dict[str, Any] = msgspec.field(default_factory=dict)
    latency: StageLatency | None = None
    seats: int = 0

    @property
    def idle_ratio(self) -> float:
        """Waiting over the whole, 0..1."""
        whole = self.busy + self.waiting
        return self.waiting / whole if whole else 0.0


class Move(Value, frozen=True):
    """A worker's change of state, in seconds since the job began; earlier ones are negative."""

    seconds: float
    state: str
    reason: str = ""


class WorkerHistory(Value, frozen=True):
    """One worker over a job: the processes that were it, one after another, and their states.

    Of many only the last ones are kept; ``more`` moves came before those.
    """

    label: str
    pids: tuple[int, ...] = ()
    moves: tuple[Move, ...] = ()
    more: int = 0


class Report(Value, frozen=True):
    """One job. ``frames_read`` left the source, ``frames_written`` reached the sink.

    The first ``resumed_at`` of them were there already from an earlier run. ``damaged`` packets
    and frames were skipped by the decoder; ``frames_expected`` is what the container promised.
    ``partial`` names an unfinished output that was kept; ``playable`` says whether a player can
    open it. ``faces`` counts every sighting of a face, ``frames_with_faces`` the frames that had
    one. ``slots`` is the size of the ring, ``leases_left`` how many of
    them were not free at the end: 0 after every complete job. ``ledger`` says what became of every
    frame, ``latency`` where their time went; ``workers`` is the history of each, ``restarts`` how
    many had to be replaced, ``alerts`` how often each kind was raised. In a ``live`` run ``missed``
    pictures came while there was no room for them, and input or output were connected anew
    ``reconnects`` times. ``advice`` says in a sentence what held the run up, and what would help.
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
    resumed_at: int = 0
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
    ledger: LedgerSummary | None = None
    latency: Latency | None = None
    workers: tuple[WorkerHistory, ...] = ()
    restarts: int = 0
    alerts: dict[str, int] = msgspec.field(default_factory=dict)
    live: bool = False
    missed: int = 0
    reconnects: int = 0
    advice: str = ""

    @property
    def frames_per_second(self) -> float:
        """Frames written in this run over the time it took."""
        made = max(self.frames_written - self.resumed_at, 0)
        return made / self.seconds if self.seconds else 0.0

    @property
    def bottleneck(self) -> StageReport | None:
        """The stage that was busiest per worker: the others wait for it."""
        working = [stage for stage in self.stages if stage.busy and stage.workers]
        return max(working, key=lambda stage: stage.busy / stage.workers, default=None)


def with_latency(stages: Sequence[StageReport], latency: Latency | None) -> tuple[StageReport, ...]:
    """The stages with the times of their frames."""
    found = {} if latency is None else {each.name: each for each in latency.stages}
    return tuple(msgspec.structs.replace(s, latency=found.get(s.name)) for s in stages)


def history(
    label: str,
    pids: Sequence[int],
    moves: Sequence[tuple[int, str, str]],
    *,
    started_ns: int,
    more: int = 0,
) -> WorkerHistory:
    """A worker's history from what its state machine kept, in nanoseconds."""
    told = [Move(round((at - started_ns) / 1e9, 3), state, why) for at, state, why in moves]
    return WorkerHistory(label, tuple(pids), tuple(told), more)


def fitting(report: Report, room: int) -> Report:
    """The report with as little left out as makes it fit into so many bytes of msgpack.

    What a person needs last goes first: where workers stood long ago, then single frames that were
    lost, then what stages say of themselves. What is counted always stays.
    """
    for shorten in _shorter():
        if len(msgspec.msgpack.encode(report)) <= room:
            break
        report = shorten(report)
    return report


def _shorter() -> Iterator[Callable[[Report], Report]]:
    for most in (50, 10):
        yield partial(_with_moves, most=most)
    for most in (300, 50):
        yield partial(_with_rows, most=most)
    yield partial(_with_moves, most=0)
    yield _with_fewer_words


def _with_moves(report: Report, most: int) -> Report:
    """At most so many moves of each worker, and processes."""
    told = tuple(
        WorkerHistory(
            each.label,
            each.pids[max(len(each.pids) - most, 0) :],
            each.moves[max(len(each.moves) - most, 0) :],
            each.more + max(len(each.moves) - most, 0),
        )
        for each in report.workers
    )
    return msgspec.structs.replace(report, workers=told)


def _with_rows(report: Report, most: int) -> Report:
    """At most so many frames that were not delivered as asked, by name."""
    ledger = report.ledger
    if ledger is None:
        return report
    rows, more = ledger.rows[:most], ledger.more + max(len(ledger.rows) - most, 0)
    ledger = msgspec.structs.replace(ledger, rows=rows, more=more)
    return msgspec.structs.replace(report, ledger=ledger)


def _with_fewer_words(report: Report) -> Report:
    """A few short warnings, no facts of stages, no single frames."""
    return msgspec.structs.replace(
        _with_rows(report, 0),
        stages=tuple(msgspec.structs.replace(stage, facts={}) for stage in report.stages),
        warnings=tuple(text[:_LONGEST_WARNING] for text in report.warnings[:_FEW_WARNINGS]),
    )
