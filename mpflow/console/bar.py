"""A progress bar on a terminal, with what each stage does below it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from mpflow.channel import Message
from mpflow.console import text
from mpflow.console.durations import clock
from mpflow.console.livewords import pace_words
from mpflow.jobs.batch import Outcome
from mpflow.logbook import LEVELS
from mpflow.spec import JobSpec


class Bar:
    """Draws one job at a time; log lines go above the bar and never through it."""

    def __init__(self, jobs: int, level: int, units: str = "inputs") -> None:
        self._console = Console(stderr=True, highlight=False)
        self._jobs = jobs
        self._units = units
        self._debug = level <= LEVELS["debug"]
        self._log = text.Log(level)
        self._progress: _Stages | None = None
        self._begun = time.monotonic()

    def started(self, job: JobSpec) -> None:
        """A job is given to the session."""
        self._begun = time.monotonic()
        name = text.name_of(job.input)
        label = name if self._jobs == 1 else f"[{job.id}/{self._jobs}] {name}"
        self._progress = _Stages(self._console, label, live=job.live)
        self._progress.start()

    def hear(self, message: Message) -> None:
        """News of the run."""
        if message["kind"] == "log":
            if (line := self._log.line(message["record"])) is not None:
                self._console.print(line, markup=False, soft_wrap=True)
        elif message["kind"] == "progress" and self._progress is not None:
            self._progress.take(message, time.monotonic() - self._begun)

    def idle(self) -> None:
        """Draw again, so that the clock moves."""
        if self._progress is not None:
            self._progress.refresh()

    def ended(self, outcome: Outcome) -> None:
        """A job is over: its line replaces the bar."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        for line in self._log.held(outcome.error):
            text.say(line)
        text.show_outcome(outcome, self._log, alone=self._jobs == 1, debug=self._debug)

    def finished(self, outcomes: Sequence[Outcome], status: int) -> None:
        """The whole run is over."""
        text.show_batch(outcomes, self._units)


class _Frames(ProgressColumn):
    """``120/400``, or the count alone while the length is not known."""

    def render(self, task: Task) -> Text:
        total = " frames" if task.total is None else f"/{task.total:.0f}"
        return Text(f"{task.completed:.0f}{total}", style="progress.download")


class _Stages(Progress):
    """The bar and, below it on one line, each stage's rate and how busy it is in percent."""

    def __init__(self, console: Console, label: str, *, live: bool = False) -> None:
        self._live = live
        super().__init__(
            TextColumn("{task.description}", markup=False),
            *(() if live else (BarColumn(),)),  # a stream has no end that it could come near to
            _Frames(),
            TextColumn("{task.fields[rate]}", markup=False),
            TextColumn("{task.fields[left]}", markup=False),
            console=console,
            transient=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._below = Text("starting", style="dim")
        self._last: dict[str, int] = {}
        self._last_time = 0.0
        self._task = self.add_task(label, total=None, rate="", left="")

    def take(self, message: Message, now: float) -> None:
        """Show new figures; ``now`` is in seconds since the job began."""
        self.update(
            self._task,
            completed=message["frame"],
            total=message["total"],
            rate=f"{message['fps']:.1f} frames/s",
            left=self._left(message, now),
        )
        self._below = Text(
            "  ".join(self._stage_figures(message, now)),
            style="dim",
            no_wrap=True,
            overflow="ellipsis",
        )
        self.refresh()

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bar, then the stages."""
        yield from super().get_renderables()
        yield getattr(self, "_below", Text())

    def _left(self, message: Message, now: float) -> str:
        """The time left, or how a stream is doing."""
        if self._live:
            return pace_words(message, now)
        left = message["eta_s"]
        return "" if left is None else f"{clock(left)} left"

    def _stage_figures(self, message: Message, now: float) -> list[str]:
        span, self._last_time = now - self._last_time, now
        figures = []
        for name, stage in message["stages"].items():
            rate = (stage["frames"] - self._last.get(name, 0)) / span if span > 0 else 0.0
            self._last[name] = stage["frames"]
            figures.append(f"{name} {rate:.0f}/s {stage['busy_ratio']:.0%}")
        return figures
