"""One run of the command line, from its arguments to its exit status.

    supervisor started -> plan and configuration, while it loads libraries -> opened -> jobs

A supervisor that turns out not to be needed (wrong usage) is ended before it has done anything.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import click
import msgspec

from mpflow.channel import Message
from mpflow.config import Resolved
from mpflow.console.arguments import Arguments
from mpflow.console.presets import plan_lines, value_lines, values_as_data
from mpflow.console.show import Display, display_for
from mpflow.console.stops import Stops
from mpflow.console.text import say
from mpflow.jobs import draw_plan
from mpflow.jobs.batch import Batch, Outcome, exit_status
from mpflow.jobs.plan import Confirm
from mpflow.logbook import LEVELS
from mpflow.session import Session


def run(arguments: Arguments) -> int:
    """Run everything that was asked for; returns the exit status."""
    outcomes, display = carry_out(arguments)
    status = exit_status(outcomes)
    display.finished(outcomes, status)
    return status


def carry_out(arguments: Arguments) -> tuple[list[Outcome], Display]:
    """Run everything that was asked for; raises MpflowError when nothing could be started."""
    request = arguments.request()
    with Stops() as stops, _Supervisors() as supervisors:
        plan = draw_plan(request, _confirm_on_terminal(arguments))
        resolved = arguments.resolve()
        fetch_models(resolved)
        display = display_for(
            len(plan), as_json=arguments.as_json, level=LEVELS[arguments.log_level or "warning"]
        )
        stops.listen()
        supervisors.serve(resolved, arguments.log_file, display)
        outcomes = []
        for outcome in Batch(supervisors.session, stops, display).run(
            plan, strict=resolved.spec.strict
        ):
            display.ended(outcome)
            outcomes.append(outcome)
    return outcomes, display


def fetch_models(resolved: Resolved) -> None:
    """Fetch what the stages' ``model`` options name, so that the user sees why it takes long."""
    wanted = [
        stage.options["model"]
        for stage in resolved.spec.stages
        if stage.options.get("model") and not stage.options.get("path")
    ]
    if not wanted:
        return
    from mpflow.models.store import Condition, ModelStore

    store = ModelStore(offline=resolved.spec.offline)
    missing = {item.name for item in store.list() if item.condition is Condition.MISSING}
    store.pull([name for name in wanted if name in missing], progress=say)


def show_plan(arguments: Arguments) -> None:
    """What a run would do, for ``--dry-run``; touches nothing and starts nothing."""
    plan = draw_plan(arguments.request())
    resolved = arguments.resolve()
    if arguments.as_json:
        jobs = [
            {
                **msgspec.to_builtins(planned.job),
                "error": None if planned.error is None else planned.error.what,
                "skipped": planned.skipped,
            }
            for planned in plan
        ]
        click.echo(json.dumps({**values_as_data(resolved), "jobs": jobs}, ensure_ascii=False))
    else:
        click.echo("\n".join([*value_lines(resolved), "", *plan_lines(plan)]))


def _confirm_on_terminal(arguments: Arguments) -> Confirm | None:
    """Ask about each existing output, where there is somebody to ask."""
    if arguments.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return lambda path: click.confirm(f"{path} exists already. Overwrite?", err=True)


class _Supervisors:
    """The supervisor of this run, started before anybody knows what it will do, and its
    successors if it should be lost. One that was never needed is ended at once."""

    def __init__(self) -> None:
        self._early: Session | None = Session(self._hear)
        self._opened: list[Session] = []
        self._display: Display | None = None

    def serve(self, resolved: Resolved, log_file: Path | None, display: Display) -> None:
        """From now on it is known what is wanted, and who shows the news."""
        self._spec = resolved.spec
        self._log_file = "" if log_file is None else str(log_file)
        self._display = display

    def session(self) -> Session:
        """A supervisor ready for jobs."""
        session, self._early = self._early or Session(self._hear), None
        self._opened.append(session)
        session.open(self._spec, log_file=self._log_file)
        return session

    def _hear(self, message: Message) -> None:
        if self._display is not None:
            self._display.hear(message)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._early is not None:
            self._early.cancel()
        for session in self._opened:
            session.close()
