"""What makes faces says so: by itself, and whatever anybody sets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mpflow.config import resolve
from mpflow.errors import ConfigError
from mpflow.importer import stage_class
from mpflow.making import ORIGIN, makes_faces
from mpflow.wheel import fixed_stages

PRESET = """
stages:
  - stage: decode
  {maker}
  - stage: making_stages:Marker
  - stage: encode
"""
WARPED = "- stage: making_stages:Maker\n  - stage: making_stages:Layer"
BY_NETWORK = "- stage: making_stages:Maker\n    options: {model: net.yaml}"


def preset_in(folder: Path, maker: str) -> str:
    path = folder / "mine.yaml"
    path.write_text(PRESET.format(maker=maker))
    return str(path)


@pytest.mark.parametrize(
    ("maker", "flags", "made"),
    [
        (WARPED, (), "composite"),
        ("- stage: making_stages:Layer", (), "composite"),
        (BY_NETWORK, (), "generated"),
        (f"{BY_NETWORK}\n  - stage: making_stages:Layer", (), "generated"),
        (BY_NETWORK, (("maker.model", "mesh", "flag"),), "composite"),
        ("", (), ""),
    ],
)
def test_stages_that_make_faces_have_the_output_say_how(
    tmp_path: Path, maker: str, flags: tuple[Any, ...], made: str
) -> None:
    resolved = resolve(preset_in(tmp_path, maker), flags=flags, environ={})
    assert [each.options["made"] for each in resolved.spec.stages[-2:]] == [made, made]
    assert makes_faces(resolved.spec) == made
    assert resolved.origins["encode.made"] == (ORIGIN if made else "default")


@pytest.mark.parametrize("value", ["", "generated"])
@pytest.mark.parametrize("preset", ["mine", "redact"])
def test_nobody_else_sets_what_an_output_says_of_that(
    tmp_path: Path, preset: str, value: str
) -> None:
    name = preset_in(tmp_path, WARPED) if preset == "mine" else preset
    flags = [("encode.made", value, "--set encode.made")]
    with pytest.raises(ConfigError, match=r"encode\.made is set by --set"):
        resolve(name, flags=flags, environ={})
    if preset == "mine":
        with pytest.raises(ConfigError, match=r"marker\.made is set by flag"):
            resolve(name, flags=[("marker.made", value, "flag")], environ={})
    with pytest.raises(ConfigError, match=r"environment MPFLOW_ENCODE__MADE"):
        resolve(name, environ={"MPFLOW_ENCODE__MADE": value})


def test_a_sidecar_comes_with_made_faces_in_any_case(tmp_path: Path) -> None:
    flags = [("sidecar", False, "--no-sidecar")]
    with pytest.raises(ConfigError, match="sidecar is off"):
        resolve(preset_in(tmp_path, WARPED), flags=flags, environ={})


def test_a_live_output_says_it_too(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "live: true\nstages: [{stage: receive}, {stage: making_stages:Layer},"
        " {stage: making_stages:Marker}, {stage: send}]"
    )
    assert resolve(str(path), environ={}).spec.stages[-1].options["made"] == "composite"


@pytest.mark.parametrize(("maker", "fixed"), [(WARPED, True), ("", False)])
def test_what_marks_made_faces_is_never_left_out(tmp_path: Path, maker: str, fixed: bool) -> None:
    spec = resolve(preset_in(tmp_path, maker), environ={}).spec
    why = fixed_stages(spec, {each.name: stage_class(each.target) for each in spec.stages})
    assert ("marker" in why) is fixed
    assert "maker" not in why
