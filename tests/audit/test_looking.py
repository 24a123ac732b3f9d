"""An audit looks as its wish says, whatever the surroundings say to runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpflow.audit.looking import looking_at_input, looking_at_output
from mpflow.audit.wish import Wish
from mpflow.config import resolve
from mpflow.models.sizes import auto_size
from mpflow.presets import preset_names
from mpflow.spec import PipelineSpec, RunSpec

WISH = Wish(Path("in.mp4"), Path("out.mp4"), size="640x384", workers=2)
BLINDING = {
    "MPFLOW_DETECT__SCORE": "0.99",
    "MPFLOW_DETECT__MODEL": "centerface",
    "MPFLOW_DETECT__PATH": "/nowhere/blind.onnx",
    "MPFLOW_DETECT__IOU": "0.01",
    "MPFLOW_DETECT__EVERY": "5",
    "MPFLOW_DETECT__AHEAD": "3",
    "MPFLOW_TRACK__BRIDGE": "0",
    "MPFLOW_EMBED__SAME": "0.01",
    "MPFLOW_ON_FAILURE": "pass",
    "MPFLOW_LADDER": "[detect.size=32x32]",
    "MPFLOW_DEGRADE": "always",
}


def pipeline(spec: RunSpec) -> PipelineSpec:
    flags = [(key, value, "wish") for key, value in spec.set.items()]
    return resolve(spec.preset, flags=flags).spec


@pytest.mark.parametrize("wish", [WISH, replace(WISH, people="except", gallery=Path("gallery"))])
def test_surroundings_that_blind_a_run_change_nothing_of_an_audit(
    monkeypatch: pytest.MonkeyPatch, wish: Wish
) -> None:
    kinds = (looking_at_input, looking_at_output)
    before = [pipeline(kind(wish)) for kind in kinds]
    for name, value in BLINDING.items():
        monkeypatch.setenv(name, value)
    assert [pipeline(kind(wish)) for kind in kinds] == before


def test_what_the_wish_says_is_kept() -> None:
    one, other = pipeline(looking_at_input(WISH)), pipeline(looking_at_output(WISH))
    models = [spec.stages[1].options["model"] for spec in (one, other)]
    assert models == ["yunet", "centerface"]
    assert {spec.stages[1].options["size"] for spec in (one, other)} == {"640x384"}
    assert {spec.stages[1].workers for spec in (one, other)} == {2}
    assert {spec.on_failure for spec in (one, other)} == {"fail"}
    assert other.stages[1].options["score"] == WISH.limits.score


def detecting(spec: PipelineSpec) -> dict[str, Any] | None:
    return next((each.options for each in spec.stages if each.name == "detect"), None)


@pytest.mark.parametrize("preset", preset_names())
def test_an_audit_looks_as_closely_as_any_preset_does(preset: str) -> None:
    run = detecting(resolve(preset, environ={}).spec)
    if run is None:
        pytest.skip("it looks for no faces")
    for kind in (looking_at_input, looking_at_output):
        audit = detecting(pipeline(kind(replace(WISH, size="auto"))))
        assert audit is not None
        assert audit["size"] == "auto"
        assert auto_size(1920, 1080, side=audit["side"]) >= auto_size(1920, 1080, side=run["side"])
        assert audit["every"] == 1
    weak = detecting(pipeline(looking_at_input(WISH)))["weak"]
    assert weak or not run["weak"]
    assert weak <= (run["weak"] or weak)
