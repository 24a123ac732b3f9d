"""One snapshot of a running pipeline as a screen: a header, its stages, its workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.table import Table
from rich.text import Text

from mpflow.accounts import Spread
from mpflow.console.durations import clock, duration
from mpflow.console.text import size
from mpflow.snapshot import Snapshot, StageView, WorkerView
from mpflow.tokens import Mode

_STAGES = (
    *("STAGE", "WORKERS", "RATE", "WAIT", "MAX", "OLDEST", "BUSY", "IDLE", "BATCH"),
    *("P50", "P95", "P99", "WAITED", "SHED", "LESS"),
)
_WORKERS = ("WORKER", "PID", "STATE", "FRAMES", "BUSY", "CPU", "MEMORY", "BATCH", "RESTARTS")
_GAP = 2
_LEAST_FIRST = (
    *("P95", "MAX", "LESS", "WAITED", "P50", "BATCH", "RESTARTS", "IDLE", "CPU", "SHED"),
    *("WORKERS", "FRAMES", "OLDEST", "P99", "MEMORY", "BUSY"),
)
"""Columns that are left out of a narrow window, one after the other, until the rest fits."""


def screen(snapshot: Snapshot | None) -> RenderableType:
    """The whole screen; a run that has no figures yet says so."""
    if snapshot is None:
        return Text("the run is starting: no figures yet")
    return _Screen(
        Group(
            *header(snapshot),
            Text(),
            _Fitting(_STAGES, [_stage(stage) for stage in snapshot.stages]),
        ),
        _Fitting(_WORKERS, [_worker(worker) for worker in snapshot.workers]),
    )


@dataclass(frozen=True, slots=True)
class _Screen:
    """What is always shown, and the workers, where the window is high enough for all of them."""

    always: Group
    workers: _Fitting

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Both, for a window of this height; without one there is room for everything."""
        yield self.always
        used = len(console.render_lines(self.always, options.update(height=None), pad=False))
        titles_and_rows = 1 + len(self.workers.rows)
        if options.height is None or used + 1 + titles_and_rows <= options.height:
            yield Text()
            yield self.workers
        else:
            yield Text("a higher window shows the workers", style="dim")


@dataclass(frozen=True, slots=True)
class _Fitting:
    """A table without the columns for which there is no room."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """The table for a window of this width."""
        columns = zip(self.titles, *self.rows, strict=True)
        widths = {cells[0]: max(map(len, cells)) + _GAP for cells in columns}
        for title in _LEAST_FIRST:
            if sum(widths.values()) <= options.max_width:
                break
            widths.pop(title, None)
        kept = [place for place, title in enumerate(self.titles) if title in widths]
        yield _table(
            [self.titles[place] for place in kept],
            [[row[place] for place in kept] for row in self.rows],
        )


def header(snapshot: Snapshot) -> Iterator[Text]:
    """Who it is, how it goes, and what holds it up."""
    yield _who(snapshot)
    yield _pace(snapshot)
    yield _counts(snapshot)
    yield _machine(snapshot)
    if snapshot.trouble:
        yield Text(f"trouble: {snapshot.trouble}", style="bold red")
    if snapshot.bottleneck:
        yield Text(snapshot.bottleneck, style="bold")


def _who(snapshot: Snapshot) -> Text:
    name = f"{snapshot.name} ({snapshot.run})" if snapshot.name else snapshot.run
    kind = "live" if snapshot.live else "files"
    parts = [name, snapshot.preset, kind, snapshot.state, f"up {clock(snapshot.uptime)}"]
    text = Text("mpflow ", style="bold")
    text.append("  ".join([*parts, f"pid {snapshot.pid}"]), style="not bold")
    return text


def _pace(snapshot: Snapshot) -> Text:
    whole = "" if snapshot.total is None else f" of {snapshot.total}"
    text = Text(f"{snapshot.frames}{whole} frames  {snapshot.rate:.1f}/s  age {_age(snapshot.age)}")
    style = "yellow" if snapshot.mode is Mode.SINGLE_FRAME or snapshot.level else ""
    text.append(f"  mode {snapshot.mode}", style=style)
    if snapshot.level or snapshot.notes:
        given_up = " ".join(snapshot.notes) or "nothing"
        text.append(f", level {snapshot.level}: {given_up}", style=style)
    if snapshot.reason:
        text.append(f" ({snapshot.reason})", style="dim")
    return text


def _age(age: Spread) -> str:
    if not age.count:
        return "-"
    return f"p50 {duration(age.p50)}, p95 {duration(age.p95)}, p99 {duration(age.p99)}"


def _counts(snapshot: Snapshot) -> Text:
    text = Text()
    counts = {
        "dropped": snapshot.dropped,
        "missed": snapshot.missed,
        "degraded": snapshot.degraded,
        "damaged": snapshot.damaged,
        "restarts": snapshot.restarts,
        "reconnects": snapshot.reconnects,
        "alerts": sum(snapshot.alerts.values()),
    }
    for word, count in counts.items():
        text.append(f"{word} {count}  ", style="yellow" if count else "dim")
    return text


def _machine(snapshot: Snapshot) -> Text:
    used = snapshot.slots - snapshot.free
    return Text(
        f"idle {snapshot.idle_ratio:.0%}  ring {used}/{snapshot.slots} in use"
        f"  memory {size(snapshot.memory)}  machine: memory {snapshot.memory_share:.0%},"
        f" CPU {snapshot.cpu_share:.0%}",
    )


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="reverse")
    for number, title in enumerate(titles):
        table.add_column(title, justify="left" if number == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _stage(stage: StageView) -> tuple[str, ...]:
    workers = f"{stage.workers}/{stage.seats} auto" if stage.auto else str(stage.workers)
    return (
        stage.name,
        workers,
        f"{stage.rate:.1f}",
        str(stage.depth),
        str(stage.high_water),
        duration(stage.oldest),
        f"{stage.busy_ratio:.0%}",
        f"{stage.idle_ratio:.0%}",
        f"{stage.batch:.1f}",
        duration(stage.service.p50),
        duration(stage.service.p95),
        duration(stage.service.p99),
        duration(stage.waited.p50),
        str(stage.shed),
        str(stage.degraded),
    )


def _worker(worker: WorkerView) -> tuple[str, ...]:
    doing = worker.state if worker.doing in ("", worker.state) else f"{worker.state} {worker.doing}"
    return (
        worker.label,
        "-" if worker.pid is None else str(worker.pid),
        doing,
        str(worker.frames),
        f"{worker.busy_ratio:.0%}",
        f"{worker.cpu_ratio:.0%}",
        size(worker.memory),
        str(worker.batch_limit or "-"),
        str(worker.restarts),
    )
