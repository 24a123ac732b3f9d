"""When a batch goes: no frame of a file waits for one that is not on its way."""

from __future__ import annotations

from pathlib import Path

from greedy_stages import gates_in
from runs import job_in, lines_of, pipeline_of, run_once

from mpflow.spec import PipelineSpec

FRAMES = 6


def dripping(folder: Path, **options: float) -> PipelineSpec:
    gates = gates_in(folder, FRAMES)
    entries = [
        {"stage": "greedy_stages:Drip", "options": {"frames": FRAMES, "gates": gates}},
        {"stage": "gathering:Gather", "options": {"batch": 4, **options}},
        {"stage": "greedy_stages:Catch", "options": {"gates": gates}},
    ]
    return pipeline_of(folder, *entries)


def test_a_starved_batch_of_a_file_goes_at_once(tmp_path: Path) -> None:
    """Each frame is read only after the one before it came out: a batch that waited for company
    would wait an hour."""
    result = run_once(dripping(tmp_path, wait_ms=3_600_000), job := job_in(tmp_path))
    assert result.error is None
    assert [line["fields"]["gathering.batch"] for line in lines_of(job)] == [1] * FRAMES


def test_what_has_piled_up_goes_as_one_batch(tmp_path: Path) -> None:
    """While a batch is worked on the next one gathers, without anybody waiting for it."""
    spec = pipeline_of(
        tmp_path,
        {"stage": "foreign_stages:Numbers", "options": {"frames": 64}},
        {"stage": "gathering:Gather", "options": {"batch": 4, "wait_ms": 0, "delay_ms": 20}},
        "Tally",
    )
    result = run_once(spec, job_in(tmp_path))
    assert result.error is None
    gather = result.report.stages[1]
    assert gather.frames == 64 and gather.batches <= 24
