"""Each step of a farm again: the same words change nothing, a damaged chunk is found and made."""

from __future__ import annotations

import shlex
from pathlib import Path

import clips
import pytest
from clips import Clip
from farmed import make_chunk, passthrough, planned

from mpflow.config import resolve
from mpflow.errors import OutputError, Refused
from mpflow.farm.concat import Concat, concat
from mpflow.farm.draw import Drawn
from mpflow.farm.render import MADE, jobs
from mpflow.spec import PipelineSpec


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Fourteen frames."""
    return clips.make(tmp_path / "in.mp4", Clip(pts=range(14)))


@pytest.fixture
def drawn(source: Path, tmp_path: Path) -> Drawn:
    """In chunks of four, all of them made."""
    drawn = planned(source, tmp_path / "out.mkv", passthrough())
    for number in range(4):
        make_chunk(drawn.plan, number)
    return drawn


def redact(**settings: object) -> PipelineSpec:
    flags = [(key.replace("__", "."), value, "test") for key, value in settings.items()]
    return resolve("redact", flags=flags, environ={}).spec


def damage(drawn: Drawn, name: str) -> None:
    """Change a byte of a chunk in place: its size stays."""
    path = Path(drawn.plan.parts) / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize("preset", ["redact", "passthrough"])
def test_planning_the_same_again_is_the_same_plan(
    source: Path, tmp_path: Path, preset: str
) -> None:
    spec = resolve(preset, environ={}).spec
    first = planned(source, tmp_path / "out.mp4", spec)
    again = planned(source, tmp_path / "out.mp4", spec)
    assert (first.repeated, again.repeated) == (False, True)
    assert again.plan == first.plan


def test_settings_that_differ_from_the_plan_are_all_named(source: Path, tmp_path: Path) -> None:
    planned(source, tmp_path / "out.mp4", redact(encode__encoder_options={"tune": "film"}))
    other = redact(redact__method="solid", detect__workers=2, retries=5)
    with pytest.raises(OutputError, match="another plan") as caught:
        planned(source, tmp_path / "out.mp4", other)
    for words in (
        "redact.method=blur, now solid",
        "detect.workers=1, now 2",
        "encode.encoder_options.tune=film, now nothing",
        "retries=2, now 5",
    ):
        assert words in caught.value.what


def test_other_stages_than_the_plans_are_named(source: Path, tmp_path: Path) -> None:
    planned(source, tmp_path / "out.mp4", resolve("passthrough", environ={}).spec)
    with pytest.raises(OutputError, match="preset=passthrough, now redact") as caught:
        planned(source, tmp_path / "out.mp4", redact())
    assert "redact.method=nothing, now blur" in caught.value.what


def test_a_chunk_that_was_damaged_in_place_is_made_again(drawn: Drawn) -> None:
    damage(drawn, "000000004-000000008.nut")
    said: list[str] = []
    skipped = [job.skipped for job in jobs(drawn.plan, [0, 1], said.append)]
    assert skipped == [MADE, ""]
    (warning,) = said
    assert "chunk 1" in warning
    assert "damaged" in warning
    assert make_chunk(drawn.plan, 1).frames == 4
    joined = concat(drawn.plan, drawn.file, Concat(), print)
    assert joined is not None
    assert joined.frames == 14


def test_concat_names_all_damaged_chunks_and_the_command_that_makes_them(drawn: Drawn) -> None:
    for name in ("000000000-000000004.nut", "000000008-000000012.nut"):
        damage(drawn, name)
    with pytest.raises(Refused, match=r"chunks 0,2 .* are damaged") as caught:
        concat(drawn.plan, drawn.file, Concat(), print)
    assert f"mpflow render {shlex.quote(str(drawn.file))} --chunks 0,2" in caught.value.cure
    assert caught.value.facts == {"damaged": [0, 2]}
    assert not Path(drawn.plan.output).exists()
    assert sorted(path.name for path in Path(drawn.plan.parts).glob("*.nut")) != []
