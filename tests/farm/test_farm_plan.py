"""The plan as a file: strict, whole or not at all, found from wherever the share is mounted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mpflow.errors import ConfigError, Refused
from mpflow.farm.plan import Plan, PlanFile, chunk_words, load
from mpflow.spec import PipelineSpec, StageSpec

PIPELINE = PipelineSpec(
    "passthrough",
    (
        StageSpec("decode", "mpflow.stages.decode:Decode"),
        StageSpec("encode", "mpflow.stages.encode:Encode", {"codec": "ffv1", "threads": 2}),
    ),
)


def plan_in(folder: Path, **changes: Any) -> Plan:
    values: dict[str, Any] = {
        "input": str(folder / "in.mp4"),
        "output": str(folder / "out.mkv"),
        "parts": str(folder / "out.mkv.parts"),
        "frames": 10,
        "chunks": ((0, 4), (4, 8), (8, 10)),
        "pipeline": PIPELINE,
    }
    return Plan(**{**values, **changes})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A plan in its usual place."""
    (tmp_path / "out.mkv.parts").mkdir()
    path = tmp_path / "out.mkv.parts" / "plan.json"
    PlanFile(path).save(plan_in(tmp_path))
    return path


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_plan_comes_back_as_it_was_written(file: Path, tmp_path: Path) -> None:
    assert load(file) == plan_in(tmp_path)
    assert [path.name for path in file.parent.iterdir()] == ["plan.json"]


def test_a_relative_plan_is_found_under_another_mount(tmp_path: Path) -> None:
    here = tmp_path / "here"
    (here / "out.mkv.parts").mkdir(parents=True)
    PlanFile(here / "out.mkv.parts" / "plan.json", relative=True).save(plan_in(here))
    there = here.rename(tmp_path / "there")
    assert load(there / "out.mkv.parts" / "plan.json") == plan_in(there)


def test_missing_chunks_are_those_not_made(tmp_path: Path) -> None:
    plan = plan_in(tmp_path)
    assert plan.missing([(4, 8), (8, 12)]) == [0, 2]
    assert chunk_words([0, 2]) == "chunks 0,2"
    assert chunk_words([1]) == "chunk 1"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is damaged or no plan"),
        (b"{", "is damaged or no plan"),
        (b"[1, 2]", "is damaged or no plan"),
        (b"{}", "is no plan"),
        (b'{"kind": "something else"}', "is no plan"),
        (b"\x00\xff", "is damaged or no plan"),
    ],
)
def test_a_file_that_is_no_plan_is_named(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as caught:
        load(path)
    assert "plan.json" in caught.value.what
    assert caught.value.cure


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"chunks": []}, "do not follow each other"),
        ({"chunks": [[0, 4], [5, 10]]}, "do not follow each other"),
        ({"chunks": [[0, 4], [4, 4]]}, "do not follow each other"),
        ({"chunks": [[0, 11]]}, "within 10 frames"),
        ({"chunks": "many"}, r"\$.chunks"),
        ({"frames": "ten"}, r"\$.frames"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_plan_that_was_changed_by_hand_is_refused(
    file: Path, changes: dict[str, Any], says: str
) -> None:
    edit(file, **changes)
    with pytest.raises(ConfigError, match=says):
        load(file)


@pytest.mark.parametrize("changes", [{"mpflow": "0.0.1"}, {"format": 99}])
def test_a_plan_of_another_version_is_refused_by_name(file: Path, changes: dict[str, Any]) -> None:
    edit(file, **changes)
    with pytest.raises(Refused, match="was made by mpflow"):
        load(file)


def test_a_missing_plan_asks_about_the_mount(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="mounted"):
        load(tmp_path / "plan.json")


def test_a_folder_in_place_of_a_plan_names_the_plan_in_it(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"plan\.json"):
        load(file.parent)


def test_nothing_is_left_of_a_plan_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "plan.json").mkdir()
    with pytest.raises(OSError, match=r"plan\.json"):
        PlanFile(tmp_path / "plan.json").save(plan_in(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_plan_holds_no_time_and_no_machine(file: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    PlanFile(again).save(plan_in(tmp_path))
    assert again.read_bytes() == file.read_bytes()
    assert msgspec.json.decode(again.read_bytes())["kind"] == "mpflow plan"
