"""What all rooms' tests share."""

from __future__ import annotations

import os

import pytest

from mpflow.models.store import ModelStore


@pytest.fixture(scope="session")
def model_store() -> ModelStore:
    """The real models and media, fetched once: $MPFLOW_TEST_CACHE, else the user's cache."""
    return ModelStore(os.environ.get("MPFLOW_TEST_CACHE"))
