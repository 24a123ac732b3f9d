"""A ring larger than memory allows is made smaller before it is filled, not killed for it."""

from __future__ import annotations

from pathlib import Path

from groups import MIB, memory_group, within
from small_shm import python, run

GREEDY = """
    import sys
    from pathlib import Path
    from runs import foreign, job_in, lines_of, pipeline_of, run_once

    folder = Path(sys.argv[1])
    numbers = foreign("Numbers", frames=60, width=1920, height=1080)
    spec = pipeline_of(folder, numbers, "Tint", "Tally", slots=1000, memory=100_000)
    result = run_once(spec, job := job_in(folder))
    assert result.error is None, result.error
    assert [line["seq"] for line in lines_of(job)] == list(range(60))
"""


def test_a_ring_asked_for_beyond_the_groups_memory_is_cut_to_what_is_left(tmp_path: Path) -> None:
    with memory_group(900 * MIB) as group:
        ran = run([*within(group), *python(GREEDY, tmp_path)])
    assert ran.returncode == 0, ran.stderr
