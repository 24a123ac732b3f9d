"""The test's end of support/moving: seats and vacates workers of a running supervisor."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

MOVING = Path(__file__).parent / "moving"
ANSWER_S = 30


class Moves:
    """Orders to the supervisor that is started next, one at a time."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._path = str(folder / "moves")
        monkeypatch.syspath_prepend(str(MOVING))
        monkeypatch.setenv("MPFLOW_TEST_MOVES", self._path)

    def seat(self, stage: str) -> bool:
        """One more worker for a stage."""
        return self._ask(f"seat {stage}") == "True"

    def vacate(self, stage: str) -> bool:
        """One worker less."""
        return self._ask(f"vacate {stage}") == "True"

    def wait_for(self, label: str, state: str) -> None:
        """Wait until a worker is in a state; a busy one has also begun its job."""
        self._ask(f"await {label} {state}")

    def states(self) -> dict[str, str]:
        """Where every worker stands."""
        return dict(pair.split("=") for pair in self._ask("crew").split())

    def _ask(self, request: str) -> str:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.settimeout(ANSWER_S)
            client.connect(self._path)
            client.send(request.encode())
            return client.recv(4096).decode()
