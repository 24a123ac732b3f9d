"""What a new worker is told, as it travels through the fork server."""

from __future__ import annotations

from multiprocessing import reduction
from typing import Any

from mpflow.graph import WorkerPlan


class WorkerStart:
    """What a new worker is told. Its descriptors survive the trip through the fork server."""

    def __init__(  # noqa: PLR0913 - one value for each thing a worker must know
        self,
        plan: WorkerPlan,
        *,
        offline: bool,
        threads: int,
        core_dumps: bool,
        log_level: str,
        channel: int,
        stderr: int,
        death: int,
    ) -> None:
        self.plan = plan
        self.offline = offline
        self.threads = threads
        self.core_dumps = core_dumps
        self.log_level = log_level
        self.descriptors = {"channel": channel, "stderr": stderr, "death": death}

    def __getstate__(self) -> dict[str, Any]:
        carried = {name: reduction.DupFd(fd) for name, fd in self.descriptors.items()}
        return {**self.__dict__, "descriptors": carried}

    def __setstate__(self, state: dict[str, Any]) -> None:
        carried = {name: dup.detach() for name, dup in state["descriptors"].items()}
        self.__dict__.update(state, descriptors=carried)
