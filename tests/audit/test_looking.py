"""An audit looks as its wish says, whatever the surroundings say to runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mpflow.audit.looking import looking_at_input, looking_at_output
from mpflow.audit.wish import Wish
from mpflow.config import resolve
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
