"""Small manifests of one entry, and pictures from the real store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import yaml
from numpy.typing import NDArray

from mpflow.models.manifest import Manifest
from mpflow.models.store import ModelStore

CONTENT = b"what a model file may hold" * 1000


def document(**changes: Any) -> dict[str, Any]:
    """A manifest with one entry ``thing`` whose file is ``thing.bin`` beside the manifest."""
    entry = {
        "role": "media",
        "licence": "CC0-1.0",
        "description": "a file for tests",
        "sources": [{"kind": "path", "path": "thing.bin"}],
        "sha256": hashlib.sha256(CONTENT).hexdigest(),
        **changes,
    }
    return {"version": 1, "entries": {"thing": entry}}


@pytest.fixture
def content() -> bytes:
    """The bytes that the entry ``thing`` must have."""
    return CONTENT


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write a manifest with the given changes to its entry; its path."""

    def write(**changes: Any) -> Path:
        path = tmp_path / "manifest.yaml"
        path.write_text(yaml.safe_dump(document(**changes)))
        return path

    return write


@pytest.fixture
def store_of(tmp_path: Path, written: Callable[..., Path]) -> Callable[..., ModelStore]:
    """A store with an empty cache in tmp_path and the one-entry manifest."""

    def make(offline: bool = False, **changes: Any) -> ModelStore:
        manifest = Manifest.load(written(**changes))
        return ModelStore(tmp_path / "cache", offline=offline, manifest=manifest)

    return make


@pytest.fixture(scope="session")
def picture(model_store: ModelStore) -> Callable[[str], NDArray[np.uint8]]:
    """Read a picture of the store as BGR."""

    def read(name: str) -> NDArray[np.uint8]:
        found = cv2.imread(str(model_store.path(name)))
        assert found is not None
        return found.astype(np.uint8)

    return read
