"""Batches that the ring cannot fill are cut, and that is told once."""

from __future__ import annotations

from pathlib import Path

from small_shm import in_shm_of, python


def test_batches_are_cut_to_what_the_ring_holds(tmp_path: Path) -> None:
    script = r"""
        import re
        import sys
        from pathlib import Path
        from runs import foreign, job_in, lines_of, pipeline_of, run_once

        folder = Path(sys.argv[1])
        numbers = foreign("Numbers", frames=40, width=640, height=480)
        gather = {"stage": "gathering:Gather", "options": {"batch": 16}}
        spec = pipeline_of(folder, numbers, gather, "Tally")
        result = run_once(spec, job := job_in(folder))
        assert result.error is None, result.error
        lines = lines_of(job)
        assert [line["seq"] for line in lines] == list(range(40))
        largest = max(line["fields"]["gathering.batch"] for line in lines)
        told = [text for text in result.report.warnings if "frame ring has" in text]
        assert len(told) == 1 and "batches are cut from 16 to" in told[0], told
        fit = int(re.search(r"to (\d+) frames", told[0])[1])
        assert 1 <= largest <= fit < 16, (largest, told)
    """
    ran = in_shm_of(8, python(script, tmp_path))
    assert ran.returncode == 0, ran.stderr
