"""Blows to a run under way: its workers are killed, or all of it at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import psutil
from watched import Beside, Watched, family

LOOK_S = 0.005
"""How often it is looked whether a frame has been reached."""


class Blows:
    """Kills by SIGKILL, and remembers when; moments are seconds of the monotonic clock."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def each(self, seconds: float, stage: str) -> Beside:
        """Kill a stage's worker again and again, from the first finished frame on."""

        def strike(pid: int, seen: Watched, over: threading.Event) -> None:
            _reach(1, seen, over)
            due = time.monotonic() + seconds / 2
            while not over.wait(max(0.0, due - time.monotonic())):
                self._kill_worker(pid, stage)
                due += seconds

        return strike

    def once(self, frame: int, stage: str) -> Beside:
        """Kill a stage's worker when so many frames are finished."""

        def strike(pid: int, seen: Watched, over: threading.Event) -> None:
            if _reach(frame, seen, over):
                self._kill_worker(pid, stage)

        return strike

    def everything(self, frame: int) -> Beside:
        """Kill every process of the run when so many frames are finished."""

        def strike(pid: int, seen: Watched, over: threading.Event) -> None:
            if _reach(frame, seen, over):
                self.moments.append(time.monotonic())
                os.killpg(pid, signal.SIGKILL)

        return strike

    def _kill_worker(self, pid: int, stage: str) -> None:
        for process in family(pid):
            if _comm(process) == f"mpf:{stage}":
                moment = time.monotonic()
                process.kill()
                self.moments.append(moment)
                return


def _reach(frame: int, seen: Watched, over: threading.Event) -> bool:
    """Wait until so many frames are finished; False if the run is over before."""
    while seen.last_frame < frame:
        if over.wait(LOOK_S):
            return False
    return True


def _comm(process: psutil.Process) -> str:
    try:
        return Path(f"/proc/{process.pid}/comm").read_text().strip()
    except OSError:
        return ""
