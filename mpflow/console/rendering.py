"""``mpflow render``: some chunks of a plan, each by an ordinary run, from flags to exit status.

With --json the lines are those of ``run`` (console/lines.py); ``job`` is the chunk's number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mpflow.channel import Message
from mpflow.console.course import Course
from mpflow.console.farm import warn
from mpflow.console.stops import Stops
from mpflow.console.supervisors import Supervisors
from mpflow.errors import ConfigError

if TYPE_CHECKING:  # loaded when the supervisor has been started, not before
    from mpflow.console.show import Display
    from mpflow.farm.plan import Plan
    from mpflow.jobs import Planned
    from mpflow.jobs.batch import Outcome
    from mpflow.spec import JobSpec, PipelineSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderArguments:
    """The command line of ``mpflow render``; None means not given."""

    file: Path
    chunk: int | None = None
    chunks: str = ""
    frames: str = ""
    workers: int | None = None
    memory: int | None = None
    offline: bool | None = None
    as_json: bool = False
    log_level: str | None = None
    log_file: Path | None = None
    report: Path | None = None
    tokens: str = ""
    trace: str = ""

    def check(self) -> None:
        """Raise ConfigError unless chunks are asked for, in one way."""
        asked = [self.chunk is not None, bool(self.chunks), bool(self.frames)]
        if sum(asked) != 1:
            raise ConfigError(
                "which chunks?" if not any(asked) else "chunks are asked for in two ways",
                cure="give one of --chunk 3, --chunks 0-3,7 (0- is all) and --frames A-B",
            )


def render(arguments: RenderArguments) -> int:
    """Make the chunks that are asked for and not made yet; returns the exit status.

    Raises MpflowError when nothing could be started.
    """
    arguments.check()
    with Stops() as stops, Supervisors() as supervisors:
        status, outcomes, display = _carry_out(arguments, stops, supervisors)
    display.finished(outcomes, status)
    return status


def _carry_out(
    arguments: RenderArguments, stops: Stops, supervisors: Supervisors
) -> tuple[int, list[Outcome], Display]:
    from mpflow.farm.plan import load
    from mpflow.farm.render import resolved_of

    plan = load(arguments.file)
    planned = _planned(plan, arguments)
    resolved = resolved_of(_pipeline(plan, arguments), f"plan {arguments.file}")

    def named(display: Display) -> Display:
        return display if arguments.as_json else _Named(display, plan)

    return Course(arguments, stops, supervisors, named, "chunks").run(planned, resolved)


def _planned(plan: Plan, arguments: RenderArguments) -> list[Planned]:
    from mpflow.farm.render import jobs, with_files

    planned = jobs(plan, _chosen(plan, arguments), warn)
    planned = with_files(plan, planned, "tokens", arguments.tokens)
    return with_files(plan, planned, "trace", arguments.trace)


def _chosen(plan: Plan, arguments: RenderArguments) -> list[int]:
    from mpflow.farm.choose import by_frames, by_number

    if arguments.frames:
        return by_frames(plan, arguments.frames)
    if arguments.chunk is not None:
        return by_number(plan, str(arguments.chunk), "--chunk")
    return by_number(plan, arguments.chunks, "--chunks")


def _pipeline(plan: Plan, arguments: RenderArguments) -> PipelineSpec:
    from mpflow.farm.analyse import without_found
    from mpflow.farm.render import on_this_machine

    spec = on_this_machine(
        plan.pipeline,
        memory=arguments.memory,
        workers=arguments.workers,
        offline=arguments.offline,
    )
    spec = without_found(plan, spec)
    level = arguments.log_level
    return spec if level is None else msgspec.structs.replace(spec, log_level=level)


class _Named:
    """A display for people: a job is called by its chunk, not by the output of all of them."""

    def __init__(self, display: Display, plan: Plan) -> None:
        self._display = display
        self._plan = plan
        self._ended = 0
        self.idle = display.idle

    def started(self, job: JobSpec) -> None:
        """A job is given to the session."""
        self._display.started(msgspec.structs.replace(self._named(job), id=str(self._ended + 1)))

    def hear(self, message: Message) -> None:
        """News of the run."""
        self._display.hear(message)

    def ended(self, outcome: Outcome) -> None:
        """A job is over."""
        self._ended += 1
        self._display.ended(self._renamed(outcome))

    def finished(self, outcomes: Sequence[Outcome], status: int) -> None:
        """The whole run is over."""
        self._display.finished([self._renamed(outcome) for outcome in outcomes], status)

    def _renamed(self, outcome: Outcome) -> Outcome:
        job, report = self._named(outcome.job), outcome.report
        if report is not None:
            report = msgspec.structs.replace(report, output=job.output)
        return replace(outcome, job=job, report=report)

    def _named(self, job: JobSpec) -> JobSpec:
        from mpflow.farm.numbers import as_text

        number = int(job.id)
        frames = f"frames {as_text(*self._plan.chunks[number])}"
        return msgspec.structs.replace(
            job,
            input=f"{job.input}, {frames}",
            output=f"{job.output}, chunk {number} ({frames})",
        )
