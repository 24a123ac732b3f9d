"""One run of the command line, from its arguments to its exit status.

    supervisor started -> configuration and plan, while it loads libraries -> opened -> jobs

A supervisor that turns out not to be needed (wrong usage) is ended before it has done anything.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpflow.console.arguments import Arguments
from mpflow.console.stops import Stops
from mpflow.console.supervisors import Supervisors
from mpflow.errors import MpflowError
from mpflow.urls import hide_credentials

if TYPE_CHECKING:  # loaded when the supervisor has been started, not before
    from mpflow.config import Resolved
    from mpflow.console.show import Display
    from mpflow.jobs.batch import Outcome
    from mpflow.jobs.conflicts import Confirm
    from mpflow.jobs.runreport import RunReport
    from mpflow.spec import PipelineSpec


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
    plan = draw_plan(arguments.request())
    if arguments.as_json:
        jobs = [
            {
                **msgspec.to_builtins(planned.job),
                "input": hide_credentials(planned.job.input),
                "error": None if planned.error is None else planned.error.what,
                "skipped": planned.skipped,
            }
            for planned in plan
        ]
        click.echo(json.dumps({**resolved.as_data(), "jobs": jobs}, ensure_ascii=False))
    else:
        click.echo("\n".join([*plan_lines(plan), "", *value_lines(resolved)]))


def fetch_models(spec: PipelineSpec) -> None:
    """Fetch the models of the run now, so that the user sees why it takes long."""
    from mpflow.jobs.models import models_of

    wanted = models_of(spec)
    if not wanted:
        return
    from mpflow.console.text import say
    from mpflow.models.store import Condition, ModelStore

    store = ModelStore(offline=spec.offline)
    missing = {item.name for item in store.list() if item.condition is Condition.MISSING}
    store.pull([name for name in wanted if name in missing], progress=say)


def _carry_out(
    arguments: Arguments, stops: Stops, supervisors: Supervisors
) -> tuple[int, list[Outcome], Display]:
    """Plan, resolve, run every job, and report."""
    from mpflow.console.show import display_for
    from mpflow.jobs import draw_plan
    from mpflow.jobs.batch import Batch, exit_status
    from mpflow.logbook import LEVELS

    resolved = arguments.resolve()  # first: nobody should be asked about a run that cannot be
    plan = draw_plan(arguments.request(), _confirm_on_terminal(arguments))
    report = _report_for(arguments)
    fetch_models(resolved.spec)
    level = LEVELS[arguments.log_level or "warning"]
    display = display_for(len(plan), as_json=arguments.as_json, level=level)
    stops.listen()
    supervisors.serve(resolved.spec, arguments.log_file, display.hear)
    outcomes = []
    batch = Batch(supervisors.session, stops, display)
    for outcome in batch.run(plan, strict=resolved.spec.strict):
        display.ended(outcome)
        outcomes.append(outcome)
    status = exit_status(outcomes)
    if report is not None:
        status = _write_report(report, resolved, outcomes, status)
    return status, outcomes, display


def _report_for(arguments: Arguments) -> RunReport | None:
    """The report that is asked for; raises OutputError if it could not be written."""
    if arguments.report is None:
        return None
    from mpflow.jobs.runreport import RunReport

    report = RunReport(arguments.report, ["mpflow", *sys.argv[1:]])
    report.check()
    return report


def _write_report(
    report: RunReport, resolved: Resolved, outcomes: Sequence[Outcome], status: int
) -> int:
    """Write the report; where that fails, the run that went well has not."""
    try:
        report.write(resolved, outcomes, status)
    except MpflowError as error:
        from mpflow.console.text import show_error

        show_error(error)
        return status or error.exit_status
    return status


def _confirm_on_terminal(arguments: Arguments) -> Confirm | None:
    """Ask about each existing output, where there is somebody to ask."""
    if arguments.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    import click

    return lambda path: click.confirm(f"{path} exists already. Overwrite?", err=True)
