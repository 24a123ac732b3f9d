"""``mpflow live``: one stream through the pipeline, from its flags to its exit status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mpflow.console.asking import confirm_on_terminal
from mpflow.console.course import Course
from mpflow.console.live_arguments import LiveArguments
from mpflow.console.namesake import warn_of_namesake
from mpflow.console.stops import Stops
from mpflow.console.supervisors import Supervisors
from mpflow.urls import shown

if TYPE_CHECKING:  # loaded when the supervisor has been started, not before
    from mpflow.config import Resolved
    from mpflow.console.show import Display
    from mpflow.jobs import Planned
    from mpflow.jobs.batch import Outcome
    from mpflow.jobs.conflicts import Confirm


def run_live(arguments: LiveArguments) -> int:
    """Carry a stream until it ends or somebody stops it; returns the exit status.

    Raises MpflowError when nothing could be started.
    """
    arguments.check()
    with Stops() as stops, Supervisors() as supervisors:
        status, outcomes, display = _carry_out(arguments, stops, supervisors)
    display.finished(outcomes, status)
    return status


def show_live_plan(arguments: LiveArguments) -> None:
    """What would be done, for ``--dry-run``; touches nothing and starts nothing."""
    import click
    import msgspec

    from mpflow.console.presets import plan_lines, value_lines

    arguments.check()
    resolved = arguments.resolve()
    planned = _plan(arguments, resolved, None)
    if arguments.as_json:
        ends = {
            "input": shown(planned.job.input),
            "output": shown(planned.job.output),
        }
        job = {**msgspec.to_builtins(planned.job), **ends}
        click.echo(json.dumps({**resolved.as_data(), "jobs": [job]}, ensure_ascii=False))
    else:
        click.echo("\n".join([*plan_lines([planned]), "", *value_lines(resolved)]))


def _carry_out(
    arguments: LiveArguments, stops: Stops, supervisors: Supervisors
) -> tuple[int, list[Outcome], Display]:
    from mpflow.console.notice import tell_once

    resolved = arguments.resolve()
    planned = _plan(arguments, resolved, confirm_on_terminal(as_json=arguments.as_json))
    tell_once(resolved, accepted=arguments.accept_notice)
    warn_of_namesake(resolved.spec.name)
    return Course(arguments, stops, supervisors, units="streams").run([planned], resolved)


def _plan(arguments: LiveArguments, resolved: Resolved, confirm: Confirm | None) -> Planned:
    from mpflow.jobs.live import check_on_line, plan_live

    planned = plan_live(arguments.request(resolved), confirm)
    check_on_line(resolved.spec, planned)
    return planned
