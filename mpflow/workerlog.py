"""A worker's voice and name: its log, its standard error, and what the system calls it."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import logging
import os
import time

from mpflow.channel import Channel
from mpflow.errors import PeerLost

PR_SET_NAME = 15
"""prctl(2): the name that ps -o comm and top show, 15 bytes."""


class ToSupervisor(logging.Handler):
    """Sends log records over the channel; a frame's number comes as ``extra={"frame": n}``."""

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(PeerLost):
            self._channel.send(
                "log",
                level=record.levelname.lower(),
                text=self.format(record)[:8192],
                frame=int(getattr(record, "frame", -1)),
                time=time.time(),
            )


def channel_logger(channel: Channel, level: str) -> logging.Logger:
    logger = logging.getLogger("mpflow")
    logger.handlers = [ToSupervisor(channel)]
    logger.setLevel(level.upper())
    logger.propagate = False
    logging.captureWarnings(True)
    logging.getLogger("py.warnings").handlers = logger.handlers
    return logger


def adopt_stderr(descriptor: int) -> None:
    """Let everything written to standard output and error, C libraries included, be gathered."""
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    faulthandler.enable()


def set_name(name: str) -> None:
    ctypes.CDLL(None).prctl(PR_SET_NAME, name[:15].encode(), 0, 0, 0)
