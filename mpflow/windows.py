"""What a run shows of itself and lets be done to it while it goes on.

Steering    looks and decides, at every tick of the supervisor
control     a socket for `mpflow top` and `mpflow ctl`, for the run's owner alone
metrics     over HTTP, where that was asked for
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mpflow.controlsocket import ControlSocket
from mpflow.errors import MpflowError
from mpflow.helmsman import Helmsman
from mpflow.jobrun import JobRun
from mpflow.reactor import Reactor
from mpflow.spec import PipelineSpec
from mpflow.steering import Steering
from mpflow.survey import Survey
from mpflow.trouble import Trouble
from mpflow.wheel import Wheel

if TYPE_CHECKING:  # loads an HTTP server, which few runs need
    from mpflow.exposition import Exposition


class Windows:
    """Opened once for a run; closed with it."""

    def __init__(  # noqa: PLR0913, PLR0917 - what they look at, and what looks through them
        self,
        spec: PipelineSpec,
        run: str,
        cores: int,
        trouble: Trouble,
        reactor: Reactor,
        job: Callable[[], JobRun | None],
    ) -> None:
        """Raises MpflowError for a ladder that cannot be climbed, or metrics that cannot be served.

        A control socket that cannot be had is a warning: the run goes on without it.
        """
        self.steering = Steering(spec, Wheel(spec), Survey(run, spec, cores), trouble, cores)
        self.helmsman = Helmsman(self.steering, job)
        self._exposition: Exposition | None = None
        if spec.metrics:
            from mpflow.exposition import Exposition

            self._exposition = Exposition.open(spec.metrics)
            trouble.note("info", f"metrics at http://{self._exposition.address}/metrics")
        self._control = ControlSocket(
            self.helmsman,
            lambda: self.steering.latest,
            lambda text: trouble.note("warning", text),
        )
        try:
            self._control.open(run, name=spec.name, preset=spec.preset)
        except MpflowError as error:
            trouble.note("warning", f"top and ctl will not find this run: {error}")
        else:
            self._control.attach(reactor)

    def tick(self, now: float) -> None:
        """Look through them."""
        self.steering.tick(now)
        self._control.tick(now)
        if self._exposition is not None and self.steering.latest is not None:
            self._exposition.show(self.steering.latest)

    def job_over(self) -> None:
        """The job at hand is over."""
        self.steering.end()
        self.helmsman.job_over()

    def close(self) -> None:
        """Close them."""
        self._control.close()
        if self._exposition is not None:
            self._exposition.close()
