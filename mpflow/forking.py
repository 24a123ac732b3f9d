"""The fork server: it has the heavy libraries loaded, so that a worker starts in milliseconds."""

from __future__ import annotations

import multiprocessing
import os
import signal
from contextlib import suppress

from mpflow.reactor import STOP_SIGNALS

PRELOADED = (
    "mpflow.launch",
    "mpflow.worker",
    "mpflow.media.reader",
    "mpflow.media.writer",
    "mpflow.stages.decode",
    "mpflow.stages.detect",
    "mpflow.stages.redact",
    "mpflow.stages.encode",
)
"""What the fork server loads once for all workers: with these come numpy, cv2 and av."""


def start_fork_server() -> None:
    """Begin loading the heavy libraries at once, before anybody says what is to be done."""
    from multiprocessing import forkserver, resource_tracker

    multiprocessing.get_context("forkserver").set_forkserver_preload(list(PRELOADED))
    resource_tracker.ensure_running()  # first: it lets SIGINT through when it has started
    # A signal to the whole group (Ctrl-C, a farm's SIGTERM) would kill the fork server; it and its
    # children inherit the signals blocked, and the supervisor decides for them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    _let_go_on(getattr(forkserver, "_forkserver", None))


def _let_go_on(server: object) -> None:
    """One that somebody has stopped would be waited for without an end when a worker is started."""
    pid = getattr(server, "_forkserver_pid", None)
    if isinstance(pid, int):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
