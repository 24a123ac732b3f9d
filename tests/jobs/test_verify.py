"""Reading all marks of a real file back, and what comes of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import clips
import msgspec
import pytest
from click.testing import CliRunner
from clips import Clip

from mpflow.cli import cli
from mpflow.config import resolve
from mpflow.errors import EXIT_CONTRADICTION, EXIT_INPUT, EXIT_OK, EXIT_UNMARKED
from mpflow.jobs.sidecar import Counted, sidecar_name, with_sidecar, write_sidecar
from mpflow.jobs.verify import Verdict, verify
from mpflow.provenance.reading import Found
from mpflow.spec import MADE, JobSpec, PipelineSpec

MARK = Found(1, "composite", 7, 3.0, 100)


def unmarked(path: Path) -> Found | None:
    return None


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> PipelineSpec:
    path = tmp_path_factory.mktemp("preset") / "mine.yaml"
    path.write_text(
        "stages: [{stage: decode}, {stage: making_stages:Maker},"
        " {stage: making_stages:Marker}, {stage: encode}]"
    )
    return resolve(str(path), environ={}).spec


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, spec: PipelineSpec) -> Path:
    """A file in which faces were made, with its sidecar."""
    folder = tmp_path_factory.mktemp("made")
    clips.make(folder / "in.mkv", Clip(range(5)))
    clips.convert(folder / "in.mkv", folder / "out.mp4", made="composite")
    job = with_sidecar(JobSpec("1", str(folder / "in.mkv"), str(folder / "out.mp4")))
    write_sidecar(spec, job, Counted(5))
    return folder / "out.mp4"


def test_all_marks_of_a_file_are_read_back_and_agree(made: Path) -> None:
    found = verify(made, lambda path: MARK)
    assert (found.verdict, found.exit_status) == (Verdict.MARKED, EXIT_OK)
    assert (found.says, found.remarks, found.contradictions) == (("synthetic",), (), ())
    assert found.sidecar is not None
    assert found.sidecar.is_about_file
    data = json.loads(msgspec.json.encode(found.as_data()))
    assert data["declared"]["label"]["ContentProducer"] == "mpflow"
    assert data["sidecar"]["operations"][1] == {"stage": "making_stages:Maker"}
    assert (data["mark"]["run_id"], data["verdict"], data["format"]) == (7, "marked", 1)


def test_a_changed_file_is_not_the_one_its_sidecar_is_about(made: Path, tmp_path: Path) -> None:
    for path in (made, sidecar_name(made)):
        shutil.copy(path, tmp_path)
    with (tmp_path / made.name).open("ab") as file:
        file.write(b"\0\0\0\x08free")
    found = verify(tmp_path / made.name, unmarked)
    assert found.verdict is Verdict.CONTRADICTION
    assert found.exit_status == EXIT_CONTRADICTION


def test_a_sidecar_that_is_none_is_told(made: Path, tmp_path: Path) -> None:
    shutil.copy(made, tmp_path)
    sidecar_name(tmp_path / made.name).write_text('{"mine": 1}')
    assert any("is none" in each for each in verify(tmp_path / made.name, unmarked).contradictions)


def test_an_original_has_no_mark(made: Path) -> None:
    found = verify(made.with_name("in.mkv"), unmarked)
    assert (found.verdict, found.exit_status) == (Verdict.UNMARKED, EXIT_UNMARKED)


def test_the_command_tells_what_it_found_and_ends_so(made: Path, tmp_path: Path) -> None:
    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, ["verify", *words])
        return result.exit_code, result.output

    status, said = run(str(made))
    assert status == EXIT_OK, said
    assert f"comment: {MADE}" in said
    assert "sidecar: Faces made with mpflow, of this very file" in said
    assert said.splitlines()[-1] == "marked: synthetic"
    status, said = run("--json", str(made.with_name("in.mkv")))
    assert (status, json.loads(said)["verdict"]) == (EXIT_UNMARKED, "unmarked")
    assert run(str(tmp_path / "none.mp4"))[0] == EXIT_INPUT
