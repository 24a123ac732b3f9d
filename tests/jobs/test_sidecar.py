"""What is told beside a redacted video, and what is never told."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from mpflow.accounts import LedgerSummary
from mpflow.config import resolve
from mpflow.errors import Interrupted, OutputError, interruption
from mpflow.jobs import Request, draw_plan
from mpflow.jobs.ending import complete_skipped, conclude
from mpflow.jobs.operations import models_of_stages, operations_of, preset_of
from mpflow.jobs.sidecar import Counted, has_sidecar, sidecar_name, with_sidecar, write_sidecar
from mpflow.media.mark import DONE, Mark
from mpflow.report import Report
from mpflow.session import JobResult
from mpflow.spec import REDACTED, REDACTED_IN_PART, JobSpec, PipelineSpec
from mpflow.stage import Options, Stage

NAME = "Anneliese"


def redacting(**settings: Any) -> PipelineSpec:
    flags = [(key.replace("__", "."), value, "test") for key, value in settings.items()]
    return resolve("redact", flags=flags, environ={}).spec


def job_in(folder: Path, **changes: Any) -> JobSpec:
    """A job whose input and output are there."""
    source, output = folder / f"{NAME}.mp4", folder / "out.mp4"
    source.write_bytes(b"input")
    output.write_bytes(b"the output")
    return with_sidecar(JobSpec("1", str(source), str(output), **changes))


def read(job: JobSpec) -> dict[str, Any]:
    return json.loads(Path(job.sidecar).read_text())


def done(**facts: Any) -> JobResult:
    return JobResult(Report("1", "in.mp4", complete=True, **facts), None)


def test_a_sidecar_says_what_was_done_to_which_bytes(tmp_path: Path) -> None:
    job, spec = job_in(tmp_path), redacting()
    write_sidecar(spec, job, Counted(9, LedgerSummary(frames=10, delivered=9, dropped=1, faces=4)))
    told = read(job)
    assert told["input"] == {"size": 5, "sha256": hashlib.sha256(b"input").hexdigest()}
    assert told["output"] == {"size": 10, "sha256": hashlib.sha256(b"the output").hexdigest()}
    assert (told["what"], told["preset"], told["privacy"]) == (REDACTED, "redact", True)
    stages = {each["stage"]: each["options"] for each in told["operations"]}
    assert {"decode", "detect", "redact", "encode"} <= set(stages)
    assert stages["redact"]["method"] == "blur"
    assert [each for each in told["models"] if each["stage"] == "detect"] == models_of_stages(spec)
    assert told["frames"]["written"] == 9
    assert told["frames"]["dropped"] == 1
    assert list(tmp_path.glob("*.json*")) == [Path(job.sidecar)]


def test_what_is_covered_at_times_or_for_some_is_said_to_be_so_in_part(tmp_path: Path) -> None:
    job, spec = job_in(tmp_path), redacting(redact__spans="f1-f3")
    write_sidecar(spec, job, Counted(9))
    assert read(job)["what"] == REDACTED_IN_PART
    (encode,) = [each for each in read(job)["operations"] if each["stage"] == "encode"]
    assert encode["options"]["note"] == REDACTED_IN_PART


def test_what_was_changed_on_the_way_is_told_with_its_frames(tmp_path: Path) -> None:
    job, spec = job_in(tmp_path), redacting()
    changed = {
        "detect.score=0.99": 585,
        "detect.size=320x192": 30,
        "detect.every=auto": 4,
        f"detect.size={NAME}": 3,
        "-detect": 7,
        f"{NAME}.x=1": 1,
        "others": 2,
    }
    write_sidecar(spec, job, Counted(9, LedgerSummary(frames=700, delivered=700, changed=changed)))
    assert read(job)["changed"] == [
        {"stage": "detect", "option": "score", "value": 0.99, "frames": 585},
        {"stage": "detect", "option": "size", "value": "320x192", "frames": 30},
        {"stage": "detect", "option": "every", "value": "auto", "frames": 4},
        {"stage": "detect", "option": "size", "value": None, "frames": 3},
        {"stage": "detect", "left_out": True, "frames": 7},
        {"stage": None, "frames": 1},
        {"stage": None, "frames": 2},
    ]
    assert NAME not in Path(job.sidecar).read_text()
    write_sidecar(spec, job, Counted(9))
    assert read(job)["changed"] is None, "nobody knows"


def test_no_path_and_no_name_is_in_it(tmp_path: Path) -> None:
    spec = redacting(
        detect__providers=[NAME],
        encode__note=f"for {NAME}",
        encode__encoder_options={"metadata": NAME, "bf": "2"},
        name=NAME,
    )
    job = job_in(tmp_path)
    write_sidecar(spec, job, Counted(1))
    text = Path(job.sidecar).read_text()
    assert NAME not in text
    assert str(tmp_path) not in text
    left_out = {each["stage"]: each["left_out"] for each in read(job)["operations"]}
    assert left_out["detect"] == ["providers"]
    assert set(left_out["encode"]) == {"note", "encoder_options"}


def test_who_is_kept_is_not_told_but_that_somebody_is(tmp_path: Path) -> None:
    flags = [
        ("embed.gallery", str(tmp_path / NAME), "test"),
        ("redact.method", "image", "test"),
        ("redact.image", f"{NAME}.png", "test"),
        ("redact.spans", "0:01-0:02", "test"),
    ]
    spec = resolve("redact-except", flags=flags, environ={}).spec
    told = {each["stage"]: each for each in operations_of(spec)}
    assert NAME not in json.dumps(list(told.values()))
    assert (told["embed"]["left_out"], told["redact"]["left_out"]) == (["gallery"], ["image"])
    assert told["redact"]["options"]["people"] == "except"
    assert told["redact"]["options"]["spans"] == "0:01-0:02"
    models = {each["stage"]: each["model"] for each in models_of_stages(spec)}
    assert models == {"detect": "yunet", "embed": "sface"}


def test_a_preset_of_ones_own_has_no_name(tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.yaml"
    path.write_text(
        f"stages: [{{stage: decode}}, {{stage: detect, name: {NAME}}}, {{stage: redact}},"
        " {stage: encode}]"
    )
    spec = resolve(str(path), environ={}).spec
    assert preset_of(spec) is None
    assert NAME not in json.dumps(operations_of(spec))


class WordyOptions(Options, frozen=True):
    """Text of several kinds."""

    free: str = "default"
    times: str = ""
    folder: str = ""
    names: tuple[str, ...] = ()


class Wordy(Stage[WordyOptions]):
    """Has options that are text."""

    Options = WordyOptions

    def process(self, batch: Any) -> Any:
        return ()


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("free", "default", True),
        ("free", "anna", False),
        ("times", "0:05-0:10,1:00-", True),
        ("times", "f120-f240", True),
        ("folder", "/home/anna", False),
        ("names", ("1", "2x3"), True),
        ("names", ("1", "anna"), False),
    ],
)
def test_text_is_told_where_it_can_be_no_name(option: str, value: Any, told: bool) -> None:
    spec = redacting()
    stage = spec.stages[1]
    target = f"{__name__}:Wordy"
    changed = type(stage)("wordy", target, {**_defaults(), option: value})
    (operation,) = operations_of(PipelineSpec("mine.yaml", (changed,)))
    assert (option in operation["options"]) is told
    assert (option in operation["left_out"]) is not told


def _defaults() -> dict[str, Any]:
    return {"free": "default", "times": "", "folder": "", "names": ()}


def test_a_model_of_ones_own_is_told_by_its_hash_alone(tmp_path: Path) -> None:
    model = tmp_path / f"{NAME}.onnx"
    model.write_bytes(b"weights")
    (told,) = models_of_stages(redacting(detect__path=str(model)))
    sha256 = hashlib.sha256(b"weights").hexdigest()
    assert told == {"stage": "detect", "model": None, "sha256": sha256}


def test_a_described_model_is_told_by_both_hashes(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"weights")
    described = tmp_path / "net.yaml"
    described.write_text("file: net.onnx\n")
    (told,) = models_of_stages(redacting(detect__model=str(described)))
    assert told["sha256"] == hashlib.sha256(b"weights").hexdigest()
    assert told["description_sha256"] == hashlib.sha256(described.read_bytes()).hexdigest()


def test_an_input_from_the_network_has_no_hash(tmp_path: Path) -> None:
    job = with_sidecar(JobSpec("1", "https://example.org/a.mp4", str(tmp_path / "out.mp4")))
    write_sidecar(redacting(), job, Counted(1))
    assert read(job)["input"] == {"size": None, "sha256": None}


@pytest.mark.parametrize(
    ("preset", "settings", "wanted"),
    [
        ("redact", {}, True),
        ("redact", {"sidecar": False}, False),
        ("passthrough", {}, False),
        ("detect-only", {}, False),
    ],
)
def test_only_redacted_videos_get_one(preset: str, settings: dict[str, Any], wanted: bool) -> None:
    flags = [(key, value, "test") for key, value in settings.items()]
    assert has_sidecar(resolve(preset, flags=flags, environ={}).spec) is wanted


def test_a_plan_names_it_and_finds_what_is_in_its_way(tmp_path: Path) -> None:
    source, output = tmp_path / "in.mp4", tmp_path / "out.mp4"
    source.write_bytes(b"x")
    request = Request([str(source)], str(output), sidecar=True)
    (planned,) = draw_plan(request)
    assert planned.job.sidecar == str(sidecar_name(output))
    sidecar_name(output).write_text('{"my": "notes"}')
    with pytest.raises(OutputError, match="no file of that kind"):
        draw_plan(request)
    sidecar_name(output).write_text('{"mpflow_sidecar": 1, "what": "an old one"}')
    draw_plan(request)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_in_its_way_is_refused_before_anything_is_made(
    tmp_path: Path, overwrite: bool
) -> None:
    source, output = tmp_path / "in.mp4", tmp_path / "out.mp4"
    source.write_bytes(b"x")
    sidecar_name(output).mkdir()
    request = Request([str(source)], str(output), sidecar=True, overwrite=overwrite)
    with pytest.raises(OutputError, match="is a folder"):
        draw_plan(request)


def test_a_job_that_is_done_has_one_before_its_parts_are_gone(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    result = conclude(redacting(), job, done(frames_written=3))
    assert result.error is None
    assert read(job)["frames"]["written"] == 3


def test_a_job_that_failed_has_none(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    conclude(redacting(), job, JobResult(Report("1", "in.mp4"), interruption(2)))
    assert not Path(job.sidecar).exists()


def test_one_that_cannot_be_written_is_the_jobs_error(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    Path(job.sidecar).mkdir()
    result = conclude(redacting(), job, done())
    assert isinstance(result.error, OutputError)
    assert Path(job.output).exists()


def test_hashing_can_be_stopped_and_leaves_nothing(tmp_path: Path) -> None:
    job = job_in(tmp_path)

    def stop() -> None:
        raise interruption(15)

    result = conclude(redacting(), job, done(), stop)
    assert isinstance(result.error, Interrupted)
    assert not list(tmp_path.glob("*.json*"))


@pytest.mark.parametrize(("text", "stays"), [('{"mpflow_sidecar": 1, ', False), ("{}", True)])
def test_an_old_one_of_ours_goes_with_the_output_it_was_about(
    tmp_path: Path, text: str, stays: bool
) -> None:
    job = JobSpec("1", "in.mp4", str(tmp_path / "out.mp4"), overwrite=True)
    old = sidecar_name(Path(job.output))
    old.write_text(text)
    conclude(redacting(), job, done())
    assert old.exists() is stays


def test_a_run_that_was_killed_before_its_sidecar_gets_it_by_resume(tmp_path: Path) -> None:
    parts = tmp_path / "out.mp4.parts"
    job = job_in(tmp_path, resume=True, parts=str(parts))
    complete_skipped(redacting(), job)
    assert not Path(job.sidecar).exists(), "without a mark nobody knows whose output it is"
    status = Path(job.output).stat()
    parts.mkdir()
    (parts / DONE).write_text(
        json.dumps({"inode": status.st_ino, "size": status.st_size, "pictures": 7, "stop": 7})
    )
    assert Mark(status.st_ino, status.st_size, 7, 7)
    complete_skipped(redacting(), job)
    assert read(job)["frames"]["written"] == 7
