"""A preset's optional stages are there where it is called with them, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpflow.config import resolve
from mpflow.errors import ConfigError
from mpflow.presets import bare_name, load_preset, with_stages

MINE = """
ladder: [skip embed, detect.every=2]
stages:
  - stage: decode
  - stage: detect
  - stage: track
    optional: true
  - stage: embed
    optional: true
  - stage: encode
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)
    return str(file)


def stages(name: str) -> list[str]:
    return [stage.name for stage in resolve(name, environ={}).spec.stages]


def test_they_are_taken_in_by_name_in_the_presets_own_order(mine: str) -> None:
    assert stages(mine) == ["decode", "detect", "encode"]
    assert stages(f"{mine}+embed+track") == ["decode", "detect", "track", "embed", "encode"]
    assert bare_name(f"{mine}+embed") == mine
    assert bare_name("swap+redact") == "swap"


def test_the_ladder_has_no_rung_for_one_that_is_not_there(mine: str) -> None:
    assert load_preset(mine).ladder == ("detect.every=2",)
    assert load_preset(f"{mine}+embed+track").ladder == ("skip embed", "detect.every=2")


def test_a_stage_can_be_asked_for_that_is_there_anyway(mine: str) -> None:
    assert with_stages(mine, ["detect"]) == mine
    assert with_stages(mine, ["track"]) == f"{mine}+track"
    assert with_stages(f"{mine}+track", ["track", "embed"]) == f"{mine}+track+embed"
    with pytest.raises(ConfigError, match="has no stage 'redact'"):
        with_stages(mine, ["redact"])


def test_a_flag_for_one_that_is_left_out_says_how_to_take_it_in(mine: str) -> None:
    with pytest.raises(ConfigError, match=r"leaves embed out.*mine\.yaml\+embed"):
        resolve(mine, environ={}, flags=[("embed.gallery", "x", "--set embed.gallery")])
    resolve(mine, environ={"MPFLOW_EMBED__GALLERY": "x"})  # meant for other presets


def test_what_is_no_optional_stage_is_refused(mine: str) -> None:
    with pytest.raises(ConfigError, match=r"no optional stage 'detect'.*track, embed"):
        load_preset(f"{mine}+detect")
    with pytest.raises(ConfigError, match=r"no optional stage 'embed'.*it has none"):
        load_preset("redact+embed")
