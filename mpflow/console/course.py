"""Jobs on their way through a session: models fetched, each job shown, the whole reported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from mpflow.console.stops import Stops
from mpflow.console.supervisors import Supervisors
from mpflow.errors import MpflowError

if TYPE_CHECKING:  # loaded when the supervisor has been started, not before
    from mpflow.config import Resolved
    from mpflow.console.show import Display
    from mpflow.jobs import Planned
    from mpflow.jobs.batch import Outcome
    from mpflow.jobs.runreport import RunReport
    from mpflow.spec import PipelineSpec


class Wishes(Protocol):
    """How a command was told to show and report what it does."""

    @property
    def as_json(self) -> bool:
        """JSON lines on standard output."""

    @property
    def log_level(self) -> str | None:
        """The least level that is shown."""

    @property
    def log_file(self) -> Path | None:
        """Where the log of all processes goes."""

    @property
    def report(self) -> Path | None:
        """Where the report goes."""


@dataclass(frozen=True, slots=True)
class Course:
    """Runs jobs one after another; ``dress`` may change how they are shown, and ``units`` is what
    they are called."""

    wishes: Wishes
    stops: Stops
    supervisors: Supervisors
    dress: Callable[[Display], Display] = lambda display: display
    units: str = "inputs"

    def run(
        self, plan: Sequence[Planned], resolved: Resolved
    ) -> tuple[int, list[Outcome], Display]:
        """Every job's outcome, the exit status, and the display that was told of them.

        Raises MpflowError when nothing could be started.
        """
        from mpflow.console.show import display_for
        from mpflow.jobs.batch import Batch, exit_status
        from mpflow.logbook import LEVELS

        report = self._report()
        if not all(one.skipped for one in plan):
            fetch_models(resolved.spec)
        level = LEVELS[self.wishes.log_level or "warning"]
        as_json, units = self.wishes.as_json, self.units
        display = self.dress(display_for(len(plan), as_json=as_json, level=level, units=units))
        self.stops.listen()
        self.supervisors.serve(resolved.spec, self.wishes.log_file, display.hear)
        outcomes = []
        batch = Batch(self.supervisors.session, self.stops, display)
        for outcome in batch.run(plan, resolved.spec):
            display.ended(outcome)
            outcomes.append(outcome)
        status = exit_status(outcomes)
        if report is not None:
            status = _write_report(report, resolved, outcomes, status)
        return status, outcomes, display

    def _report(self) -> RunReport | None:
        """The report that is asked for; raises OutputError if it could not be written."""
        if self.wishes.report is None:
            return None
        from mpflow.jobs.runreport import RunReport

        report = RunReport(self.wishes.report, ["mpflow", *sys.argv[1:]])
        report.check()
        return report


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
