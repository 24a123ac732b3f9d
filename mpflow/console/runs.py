"""One run of the command line, from its arguments to its exit status.

    supervisor started -> configuration and plan, while it loads libraries -> opened -> jobs

A supervisor that turns out not to be needed (wrong usage) is ended before it has done anything.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mpflow.console.arguments import Arguments
from mpflow.console.asking import confirm_on_terminal
from mpflow.console.course import Course
from mpflow.console.namesake import warn_of_namesake
from mpflow.console.stops import Stops
from mpflow.console.supervisors import Supervisors
from mpflow.urls import shown

if TYPE_CHECKING:  # loaded when the supervisor has been started, not before
    from mpflow.console.show import Display
    from mpflow.jobs.batch import Outcome


def run(arguments: Arguments) -> int:
    """Run everything that was asked for; returns the exit status.

    Raises MpflowError when nothing could be started.
    """
    arguments.check()
    with Stops() as stops, Supervisors() as supervisors:
        status, outcomes, display = _carry_out(arguments, stops, supervisors)
    display.finished(outcomes, status)
    return status


def show_plan(arguments: Arguments) -> None:
    """What a run would do, for ``--dry-run``; touches nothing and starts nothing."""
    import click
    import msgspec

    from mpflow.console.presets import plan_lines, value_lines
    from mpflow.jobs import draw_plan

    arguments.check()
    resolved = arguments.resolve()
    plan = draw_plan(arguments.request(resolved))
    if arguments.as_json:
        jobs = [
            {
                **msgspec.to_builtins(planned.job),
                "input": shown(planned.job.input),
                "output": shown(planned.job.output),
                "error": None if planned.error is None else planned.error.what,
                "skipped": planned.skipped,
            }
            for planned in plan
        ]
        click.echo(json.dumps({**resolved.as_data(), "jobs": jobs}, ensure_ascii=False))
    else:
        click.echo("\n".join([*plan_lines(plan), "", *value_lines(resolved)]))


def _carry_out(
    arguments: Arguments, stops: Stops, supervisors: Supervisors
) -> tuple[int, list[Outcome], Display]:
    """Plan, resolve, run every job, and report."""
    from mpflow.console.notice import tell_once
    from mpflow.jobs import draw_plan

    resolved = arguments.resolve()  # first: nobody should be asked about a run that cannot be
    plan = draw_plan(arguments.request(resolved), confirm_on_terminal(as_json=arguments.as_json))
    tell_once(resolved, accepted=arguments.accept_notice)
    warn_of_namesake(resolved.spec.name)
    return Course(arguments, stops, supervisors).run(plan, resolved)
