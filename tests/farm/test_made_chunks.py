"""A video with made faces says so however it came about: in one go, resumed, or of chunks."""

from __future__ import annotations

from pathlib import Path

import clips
import pytest
from clips import Clip
from farmed import make, make_chunk, make_whole, planned

from mpflow.config import resolve
from mpflow.farm.concat import Concat, concat
from mpflow.jobs.verify import Verdict, verify
from mpflow.provenance.reading import Found
from mpflow.spec import JobSpec, PipelineSpec, partial_name, parts_name

STAGES = (
    "stages: [{stage: decode}, {stage: making_stages:Maker},"
    " {stage: making_stages:Marker}, {stage: encode}]"
)


def unmarked(path: Path) -> Found | None:
    return None


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return clips.make(tmp_path / "in.mp4", Clip(range(8)))


@pytest.fixture
def spec(tmp_path: Path) -> PipelineSpec:
    path = tmp_path / "mine.yaml"
    path.write_text(STAGES)
    flags = [("encode.threads", 1, "test"), ("encode.chunk_seconds", 0.1, "test")]
    return resolve(str(path), flags=flags, environ={}).spec


def test_chunks_of_a_farm_are_joined_to_a_video_that_says_it(
    tmp_path: Path, source: Path, spec: PipelineSpec
) -> None:
    drawn = planned(source, tmp_path / "out.mp4", spec)
    for number in range(2):
        make_chunk(drawn.plan, number)
    concat(drawn.plan, drawn.file, Concat(), print)
    found = verify(tmp_path / "out.mp4", unmarked)
    assert (found.verdict, found.says) == (Verdict.MARKED, ("synthetic",))
    assert found.declared.label == found.declared.packet_label is not None
    assert found.sidecar is not None, "concat writes it too"
    assert found.sidecar.is_about_file


def test_what_is_left_of_a_stopped_run_says_it_and_so_does_the_resumed_one(
    tmp_path: Path, source: Path, spec: PipelineSpec
) -> None:
    output = tmp_path / "out.mp4"
    names = (str(source), str(output), str(partial_name(output)))
    make(JobSpec("1", *names, parts=str(parts_name(output))), spec, stop_after=5)
    left = verify(partial_name(output), unmarked)
    assert left.says == ("synthetic",)
    assert left.declared.label is not None
    make_whole(source, output, spec, resume=True)
    whole = verify(output, unmarked)
    assert (whole.says, whole.contradictions) == (("synthetic",), ())
    assert whole.declared.packet_label == whole.declared.label != left.declared.label
