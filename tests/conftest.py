"""What all rooms' tests share."""

from __future__ import annotations

import os

import pytest

# Released slots are filled with a pattern, in this process and in every one it starts: set before
# the ring is imported anywhere.
os.environ["MPFLOW_TEST_FILL"] = "1"

from mpflow.models.store import ModelStore


@pytest.fixture(scope="session")
def model_store() -> ModelStore:
    """The real models and media, fetched once: $MPFLOW_TEST_CACHE, else the user's cache."""
    return ModelStore(os.environ.get("MPFLOW_TEST_CACHE"))
