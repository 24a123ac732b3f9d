"""Every stage module keeps the contract; a stage from outside is checked by the same code."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import clips
import pytest

import mpflow.stages
from mpflow.conformance import check
from mpflow.errors import ContractError
from mpflow.importer import SHORT_NAMES
from mpflow.models.store import ModelStore
from mpflow.stage import Sink, Source, Stage


def stage_targets() -> list[str]:
    """Every stage class in mpflow/stages, found by looking, so that none is forgotten."""
    found = []
    for module in pkgutil.iter_modules(mpflow.stages.__path__, "mpflow.stages."):
        for name, cls in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(cls, (Source, Stage, Sink)) and cls.__module__ == module.name:
                found.append(f"{module.name}:{name}")
    return found


@pytest.mark.parametrize("target", stage_targets())
def test_every_stage_keeps_the_contract(
    target: str, tmp_path: Path, model_store: ModelStore
) -> None:
    clip = clips.make(tmp_path / "clip.mp4")
    check(target, required(target, tmp_path, model_store), source=str(clip))


def required(target: str, folder: Path, store: ModelStore) -> dict[str, Any]:
    """The options that a stage cannot do without."""
    if target.endswith(":Enhance"):
        return {"model": "esrgan-slim-x2", "size": "64", "faces": "all"}
    if target.endswith(":Swap"):
        return {"sources": [str(store.path("astronaut"))]}
    if not target.endswith(":Embed"):
        return {}
    gallery = folder / "gallery"
    gallery.mkdir()
    shutil.copy(store.path("astronaut"), gallery)
    return {"gallery": str(gallery), "ahead": "3"}


def test_every_stage_has_a_short_name_and_every_short_name_a_stage() -> None:
    assert sorted(SHORT_NAMES.values()) == sorted(stage_targets())


@pytest.mark.parametrize(
    ("target", "options"), [("Tint", {}), ("Hoard", {}), ("Hoard", {"least": 1, "heeds": True})]
)
def test_a_stage_from_outside_can_be_checked(target: str, options: dict) -> None:
    check(f"foreign_stages:{target}", options)


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("Cling", {}, "still holds pixels"),
        ("Hoard", {"keep": 4, "declare": 2}, "declares holds = 2"),
        ("Hoard", {"least": 1}, "declares least_holds = 1, but does not do with 1"),
        ("Twice", {}, "which it does not have"),
        ("Swallow", {}, "holds = 0"),
    ],
)
def test_a_broken_contract_is_named(target: str, options: dict, words: str) -> None:
    with pytest.raises(ContractError, match=words):
        check(f"foreign_stages:{target}", options)


def test_the_check_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mpflow.conformance", "foreign_stages:Tint", "add=3"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(__file__).parents[1] / "support"), "PATH": "/usr/bin"},
    )
    assert (done.returncode, done.stderr) == (0, "foreign_stages:Tint keeps the contract\n")
