"""What hurts users of shared memory, each fault by its small reproduction, with real processes."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from runs import job_in, nothing_left, pipeline_of, run_once
from small_shm import in_shm_of, python, run

from mpflow.errors import ContractError

# Python 3.11: resource-tracker warnings, and a second attacher's exit deletes the segment


A_RUN_WITH_A_VISITOR = """
    import os, subprocess, sys
    from pathlib import Path
    from runs import foreign, job_in, lines_of, pipeline_of
    from mpflow.session import Session

    VISIT = (
        "import os, sys;"
        "from mpflow.shm import Segment, read_stats;"
        "segment = Segment.attach(os.open(sys.argv[1], os.O_RDWR));"
        "print(len(segment.words()), len(read_stats(segment)))"
    )
    folder, visits = Path(sys.argv[1]), []

    def visit(message):
        if message["kind"] != "progress" or visits:
            return
        place = Path(f"/proc/{session.pid}/fd")
        ours = [fd for fd in place.iterdir() if "/dev/shm/mpflow-" in os.readlink(fd)]
        segment = str(ours[0])
        command = [sys.executable, "-W", "error", "-c", VISIT, segment]
        visits.append(subprocess.run(command, capture_output=True, text=True))

    with Session(visit) as session:
        numbers = foreign("Numbers", frames=150, delay_ms=5)
        session.open(pipeline_of(folder, numbers, "Tint", "Tally"))
        result = session.run(job := job_in(folder))
    assert result.error is None, result.error
    assert [line["corner"] for line in lines_of(job)] == [n + 100 for n in range(150)]
    (visit,) = visits
    assert (visit.returncode, visit.stderr) == (0, ""), visit
    assert int(visit.stdout.split()[1]) == 3, visit.stdout
"""


def test_a_second_attachers_exit_deletes_nothing_and_no_tracker_warns(tmp_path: Path) -> None:
    with nothing_left(tmp_path, but=["preset.yaml", "out.jsonl"]):
        ran = run(python(A_RUN_WITH_A_VISITOR, tmp_path))
    assert (ran.returncode, ran.stderr) == (0, "")


# a SIGKILLed run leaves segments, and the next start fails


A_RUN_TO_KILL = """
    import sys
    from pathlib import Path
    from runs import foreign, job_in, pipeline_of
    from mpflow.session import Session

    def tell(message):
        print(message["kind"], flush=True)

    folder = Path(sys.argv[1])
    print("start", flush=True)
    with Session(tell) as session:
        numbers = foreign("Numbers", frames=100_000, width=640, height=480)
        session.open(pipeline_of(folder, numbers, "Tint", "Tally"))
        print("open", flush=True)
        session.run(job_in(folder))
"""

TWENTY_KILLS = """
    import os, signal, subprocess, sys
    from multiprocessing import shared_memory
    from pathlib import Path
    import psutil
    from runs import GONE_S, SHM, family, job_in, pipeline_of, run_once

    def used():
        status = os.statvfs(SHM)
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def start_and_kill(lines):
        command = [sys.executable, "-c", sys.argv[2], str(folder)]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        for _ in range(lines):
            assert run.stdout.readline()
        processes = family(run.pid)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        run.stdout.close()
        return processes

    folder = Path(sys.argv[1])
    other = shared_memory.SharedMemory("other", create=True, size=1 << 16)
    other.buf[:5] = b"whole"
    Path(SHM, "mpflow-of-a-dead-one").write_bytes(bytes(1 << 20))
    dying = []
    for number in range(20):
        dying += start_and_kill(1 + number % 4)
    assert not psutil.wait_procs(dying, timeout=GONE_S)[1]
    result = run_once(pipeline_of(folder, "Numbers", "Tint", "Tally"), job_in(folder, "b.jsonl"))
    assert result.error is None, result.error
    assert [path.name for path in SHM.iterdir()] == ["other"]
    assert used() <= 1 << 16, used()
    assert bytes(other.buf[:5]) == b"whole"
    other.close()
    other.unlink()
"""


@pytest.mark.slow
def test_twenty_groups_killed_with_sigkill_leave_no_segment_and_the_next_run_starts(
    tmp_path: Path,
) -> None:
    ran = in_shm_of(512, python(TWENTY_KILLS, tmp_path, textwrap.dedent(A_RUN_TO_KILL)))
    assert ran.returncode == 0, ran.stderr


# a bus error where /dev/shm is small: ftruncate succeeds, touching the memory kills


A_RUN_OF_LARGE_FRAMES = """
    import sys
    from pathlib import Path
    from runs import foreign, job_in, lines_of, pipeline_of, run_once

    folder = Path(sys.argv[1])
    numbers = foreign("Numbers", frames=30, width=640, height=480)
    result = run_once(pipeline_of(folder, numbers, "Tint", "Tally"), job := job_in(folder))
    if result.error is None:
        assert [line["body"] for line in lines_of(job)] == list(range(30))
        sys.exit(0)
    print(result.error)
    sys.exit(result.error.exit_status)
"""


@pytest.mark.parametrize(("mebibytes", "status"), [(1, 6), (2, 0), (3, 0), (4, 0), (8, 0)])
def test_a_small_dev_shm_is_a_smaller_ring_or_exit_6_and_never_a_bus_error(
    tmp_path: Path, mebibytes: int, status: int
) -> None:
    ran = in_shm_of(mebibytes, python(A_RUN_OF_LARGE_FRAMES, tmp_path))
    assert ran.returncode == status, (ran.stdout, ran.stderr)
    if status:
        assert "enlarge /dev/shm" in ran.stdout
        assert not (tmp_path / "out.jsonl").exists()


# a view used after its segment closed crashes or raises BufferError


READS_AFTER_THE_CLOSE = """
    import gc
    from mpflow.shm import Bell, Geometry, Ring, Segment

    segment = Segment.create(Geometry(slots=2, slot_bytes=1 << 20))
    ring = Ring(segment, [Bell.create(), Bell.create()], 0, 0)
    lease = ring.alloc()
    view = lease.view(0, (1 << 20,), writable=True)
    view[:] = 7
    segment.close()
    del segment, ring, lease
    gc.collect()
    assert (view == 7).all()
    view[:] = 8
    assert int(view.sum()) == 8 << 20
"""


def test_a_view_read_after_its_segment_closed_neither_crashes_nor_raises_buffer_error() -> None:
    ran = run(python(READS_AFTER_THE_CLOSE))
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_stage_that_keeps_a_view_past_its_frame_is_named_and_nothing_crashes(
    tmp_path: Path,
) -> None:
    with nothing_left(tmp_path, but=["preset.yaml", "out.partial.jsonl"]):
        result = run_once(pipeline_of(tmp_path, "Numbers", "Cling", "Tally"), job_in(tmp_path))
    assert isinstance(result.error, ContractError)
    assert "stage cling still holds pixels of frame" in result.error.what


# a slot overwritten while it is read: a torn frame


def patterned(name: str, **options: Any) -> dict[str, Any]:
    return {"stage": f"patterned:{name}", "options": options}


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_no_slot_is_overwritten_while_a_slow_consumer_reads_it(tmp_path: Path, slots: int) -> None:
    stages: Sequence[dict[str, Any]] = (
        patterned("Patterns", frames=60),
        patterned("Checks", delay_ms=5),
    )
    job = job_in(tmp_path)
    with nothing_left(tmp_path, but=["preset.yaml", "out.jsonl"]):
        result = run_once(pipeline_of(tmp_path, *stages, slots=slots), job)
    assert result.error is None, result.error
    lines = [json.loads(line) for line in Path(job.output).read_text().splitlines()]
    assert lines == [[seq, True, True] for seq in range(60)]
