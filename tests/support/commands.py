"""The command line as a process of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT_S = 90
SUPPORT = str(Path(__file__).parent)


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    def events_called(self, name: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [event for event in self.events if event["event"] == name]


Command = Callable[..., Ran]


def command_line(*words: str | Path) -> list[str]:
    """The command as a user's shell would run it."""
    return [sys.executable, "-m", "mpflow.cli", *map(str, words)]


def environment() -> dict[str, str]:
    """What a command needs to find the stages that stand beside this file."""
    path = os.pathsep.join(filter(None, [SUPPORT, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}
