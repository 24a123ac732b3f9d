"""``--resume`` of outputs that are whole already: were they made as they are asked for now?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mpflow.accounts import LedgerSummary
from mpflow.config import resolve
from mpflow.errors import Refused
from mpflow.jobs.ending import complete_skipped
from mpflow.jobs.sidecar import Counted, with_sidecar, write_sidecar
from mpflow.media.checkpoint import FORMAT, flat
from mpflow.media.chunks import CHECKPOINT
from mpflow.media.mark import DONE
from mpflow.spec import JobSpec, PipelineSpec, settings_of


def spec(preset: str = "redact", **settings: Any) -> PipelineSpec:
    flags = [(key.replace("__", "."), value, "test") for key, value in settings.items()]
    return resolve(preset, flags=flags, environ={}).spec


def job_in(folder: Path, **changes: Any) -> JobSpec:
    source, output = folder / "in.mp4", folder / "out.mp4"
    source.write_bytes(b"input")
    output.write_bytes(b"the output")
    parts = f"{output}.parts"
    return with_sidecar(JobSpec("1", str(source), str(output), resume=True, parts=parts, **changes))


@pytest.fixture
def finished(tmp_path: Path) -> JobSpec:
    """Of frames 0 to 299, covered by blurs."""
    job = job_in(tmp_path, stop=300)
    write_sidecar(spec(), job, Counted(300, LedgerSummary()))
    return job


@pytest.mark.parametrize(
    ("settings", "changes", "says"),
    [
        ({"redact__method": "solid"}, {}, r"with redact\.method=blur, now solid"),
        ({"redact__spans": "1-2"}, {}, r"with redact\.spans=nothing, now 1-2"),
        ({"encode__crf": 30}, {}, r"with encode\.crf=nothing, now 30"),
        ({}, {"stop": 900}, "of the frames 0-299, now 0-899"),
        ({}, {"stop": None, "start": 5}, "of the frames 0-299, now 5-"),
        ({"preset": "redact-only"}, {}, "by the stages .* now decode, detect, track, embed"),
        ({"detect__model": "centerface"}, {}, r"detect\.model=yunet.*with other models"),
    ],
)
def test_an_output_that_was_made_otherwise_is_refused_by_name(
    finished: JobSpec, settings: dict[str, Any], changes: dict[str, Any], says: str
) -> None:
    if "preset" in settings:
        settings = {**settings, "embed__gallery": "photos"}
    with pytest.raises(Refused, match=says) as caught:
        complete_skipped(spec(**settings), msgspec.structs.replace(finished, **changes))
    assert "-y without --resume" in caught.value.cure


def test_another_input_is_seen_by_its_size(finished: JobSpec) -> None:
    Path(finished.input).write_bytes(b"another input")
    with pytest.raises(Refused, match="from another input"):
        complete_skipped(spec(), finished)


def test_the_same_with_other_threads_is_finished(finished: JobSpec) -> None:
    complete_skipped(spec(encode__threads=3, detect__max_batch=2), finished)


def test_a_sidecar_of_another_file_tells_nothing(finished: JobSpec) -> None:
    Path(finished.output).write_bytes(b"replaced by somebody")
    complete_skipped(spec(redact__method="solid"), finished)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"output": {"size": 10}, "operations": []}'])
def test_a_sidecar_that_tells_less_is_no_reason_to_fail(finished: JobSpec, text: str) -> None:
    Path(finished.sidecar).write_text(text)
    complete_skipped(spec(), finished)


def test_a_sidecar_that_is_missing_is_not_written_for_other_settings(tmp_path: Path) -> None:
    """Killed between the last two steps: the parts know how the output was made."""
    job = job_in(tmp_path)
    parts, status = Path(job.parts), Path(job.output).stat()
    parts.mkdir()
    mark = {"inode": status.st_ino, "size": status.st_size, "pictures": 7, "stop": 7}
    (parts / DONE).write_text(json.dumps(mark))
    key = {**dict(flat(settings_of(spec()))), "start": 0, "stop": None, "grid": 50}
    (parts / CHECKPOINT).write_text(json.dumps({"mpflow_checkpoint": FORMAT, "key": key}))
    with pytest.raises(Refused, match=r"redact\.method=blur, now solid"):
        complete_skipped(spec(redact__method="solid"), job)
    assert not Path(job.sidecar).exists()
    complete_skipped(spec(), job)
    assert Path(job.sidecar).exists()
