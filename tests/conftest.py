"""What all rooms' tests share."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Released slots are filled with a pattern, in this process and in every one it starts: set before
# the ring is imported anywhere.
os.environ["MPFLOW_TEST_FILL"] = "1"

from mpflow.models.store import ModelStore

USUAL_LIMIT_S = 300

# A shell that starts the tests in the background ignores these, and so would every process that
# the tests start and stop with them.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# No test is wrong for being slow: machines are shared.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process is left with one at the end."""
    weights: Counter[Path] = Counter()
    for item in items:
        if item.get_closest_marker("slow"):
            limit = item.get_closest_marker("timeout")
            weights[item.path] += limit.args[0] if limit else USUAL_LIMIT_S
    items.sort(key=lambda item: -weights[item.path])


@pytest.fixture(scope="session")
def model_store() -> ModelStore:
    """The real models and media, fetched once: $MPFLOW_TEST_CACHE, else the user's cache."""
    return ModelStore(os.environ.get("MPFLOW_TEST_CACHE"))
