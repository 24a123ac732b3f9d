"""A batch for which there is no memory is halved, and the run goes on (row 26 of users' pains)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import job_in, lines_of, marks_in, pipeline_of, run_once, trap

from mpflow.session import Session
from mpflow.spec import JobSpec

FRAMES = 32

TEXTS = [
    "memory",
    "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned while running Conv"
    " node. Status Message: Failed to allocate memory for requested buffer of size 939524096",
    "CUDA failure 2: out of memory ; GPU=0",
]


def greedy(folder: Path, **options: Any) -> list[dict[str, Any]]:
    entry = {"stage": "greedy_stages:Greedy", "name": "paint"}
    options = {"batch": 8, "once": marks_in(folder), **options}
    return [trap("Read", frames=FRAMES), {**entry, "options": options}, trap("Rows")]


def undisturbed(folder: Path) -> list[dict[str, Any]]:
    job = job_in(folder, "plain.jsonl")
    plain = [trap("Read", frames=FRAMES), trap("Paint"), trap("Rows")]
    assert run_once(pipeline_of(folder, *plain), job).error is None
    return [pixels(line) for line in lines_of(job)]


def pixels(line: dict[str, Any]) -> dict[str, Any]:
    return {key: line[key] for key in ("seq", "state", "crc")}


def sizes(job: JobSpec) -> list[int]:
    return [line["fields"]["greedy.batch"] for line in lines_of(job)]


def failures(folder: Path) -> list[int]:
    """The size of each batch for which there was no memory, in order."""
    marks = [path.name.split("-") for path in (folder / "marks").glob("out-*")]
    return [int(size) for _, size, _ in sorted(marks, key=lambda mark: int(mark[2]))]


@pytest.mark.parametrize("says", TEXTS, ids=["MemoryError", "onnxruntime", "cuda"])
@pytest.mark.parametrize("late", [False, True], ids=["at once", "with frames half painted"])
def test_batches_are_halved_until_they_fit_and_nobody_can_tell(
    tmp_path: Path, says: str, late: bool
) -> None:
    job = job_in(tmp_path)
    result = run_once(pipeline_of(tmp_path, *greedy(tmp_path, says=says, late=late)), job)
    assert result.error is None
    assert [pixels(line) for line in lines_of(job)] == undisturbed(tmp_path)
    failed = failures(tmp_path)
    # a frame that was given on before the others of its batch found no memory keeps its size
    assert [size for size in sizes(job) if size > 2] == (failed if late else [])
    assert failed and all(size > 2 for size in failed) and len(failed) <= 2
    assert result.report.restarts == 0 and result.report.alerts == {}
    assert result.report.ledger is not None and result.report.ledger.delivered == FRAMES
    told = [text for text in result.report.warnings if "ran out of memory" in text]
    assert len(told) == len(failed)
    assert told[-1].startswith(f"paint ran out of memory with {failed[-1]} frames at once: at most")
    assert result.report.stages[1].facts["batch_limit"] in (1, 2)


def test_a_restarted_worker_remembers_what_fits(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    stages = greedy(tmp_path, habit="kill", at=[20])
    result = run_once(pipeline_of(tmp_path, *stages), job)
    assert result.error is None and result.report.restarts == 1
    assert [pixels(line) for line in lines_of(job)] == undisturbed(tmp_path)
    assert len(failures(tmp_path)) <= 2
    assert max(sizes(job)) <= 2


def test_the_next_file_begins_with_what_fits(tmp_path: Path) -> None:
    with Session() as session:
        session.open(pipeline_of(tmp_path, *greedy(tmp_path)))
        assert session.run(job_in(tmp_path, "one.jsonl")).error is None
        known = failures(tmp_path)
        result = session.run(job_in(tmp_path, "two.jsonl"))
    assert result.error is None and known
    assert failures(tmp_path) == known
    assert not [text for text in result.report.warnings if "memory" in text]


def test_a_frame_that_has_no_memory_alone_is_left_to_the_policy(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    stages = greedy(tmp_path, fits=0, batch=4)
    result = run_once(pipeline_of(tmp_path, *stages, on_failure="mask", retries=0), job)
    assert result.error is None
    assert {line["state"] for line in lines_of(job)} == {"masked"}
    assert len(lines_of(job)) == FRAMES
    assert [size for size in failures(tmp_path) if size > 1] in ([4, 2], [3], [2], [4], [3, 2])


def test_a_failure_of_another_kind_in_a_smaller_batch_is_handled_as_ever(tmp_path: Path) -> None:
    job = job_in(tmp_path)
    result = run_once(pipeline_of(tmp_path, *greedy(tmp_path, habit="raise", at=[5, 20])), job)
    assert result.error is None
    assert [pixels(line) for line in lines_of(job)] == undisturbed(tmp_path)
