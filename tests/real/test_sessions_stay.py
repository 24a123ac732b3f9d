"""A model is loaded once per worker and stays: over batches, sizes and the jobs of one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from clips import Clip, make
from runs import job_in, pipeline_of

from mpflow.models.store import ModelStore
from mpflow.session import Session


@pytest.mark.parametrize("workers", [1, 2])
def test_three_files_of_three_sizes_need_one_session_a_worker(
    model_store: ModelStore, tmp_path: Path, workers: int
) -> None:
    model_store.path("yunet")
    detect = {"max_batch": 4, "device": "cpu"}
    stages = [
        {"stage": "decode"},
        {"stage": "detect", "workers": workers, "options": detect},
        {"stage": "faces-json"},
    ]
    with Session() as session:
        session.open(pipeline_of(tmp_path, *stages))
        for number, size in enumerate([(320, 192), (176, 144), (96, 208)]):
            source = make(tmp_path / f"{number}.mp4", Clip(pts=range(12), size=size))
            result = session.run(job_in(tmp_path, f"{number}.jsonl", str(source)))
            assert result.error is None, result.error
            assert result.report.stages[1].facts["sessions"] == 1
            assert result.report.stages[1].workers == workers
