"""Runs in a /dev/shm that is small, full, or filled by others: an answer or a result, no SIGBUS."""

from __future__ import annotations

import json
from pathlib import Path

import av
import pytest
import yaml
from clips import Clip, make
from commands import command_line
from small_shm import in_shm_of, python

from mpflow.models.store import ModelStore

FULL_HD = Clip(pts=range(24), size=(1920, 1080), options={"preset": "ultrafast"})


@pytest.fixture(scope="module")
def full_hd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("clips") / "full_hd.mp4", FULL_HD)


@pytest.fixture
def tinting(tmp_path: Path) -> Path:
    """A preset whose middle stage changes pixels, and so needs a journal as well."""
    path = tmp_path / "tinting.yaml"
    stages = ["decode", "foreign_stages:Tint", "encode"]
    path.write_text(yaml.safe_dump({"stages": [{"stage": stage} for stage in stages]}))
    return path


def frames_of(path: Path) -> int:
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


def test_a_ring_that_cannot_fit_ends_with_exit_6_the_figures_and_the_cure(
    tmp_path: Path, full_hd: Path
) -> None:
    output = tmp_path / "out.mp4"
    ran = in_shm_of(2, command_line("run", full_hd, "-o", output, "--preset", "passthrough"))
    assert ran.returncode == 6, ran.stderr
    assert "MiB of shared memory, 2 MiB may be used" in ran.stderr
    assert "enlarge /dev/shm (in a container: --shm-size)" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_small_pictures_need_no_more_than_two_mebibytes(tmp_path: Path, tinting: Path) -> None:
    clip, output = make(tmp_path / "short.mp4"), tmp_path / "out.mp4"
    ran = in_shm_of(2, command_line("run", clip, "-o", output, "--preset", tinting))
    assert ran.returncode == 0, ran.stderr
    assert frames_of(output) == 30


def test_full_hd_runs_in_the_64_mebibytes_that_a_container_has(
    tmp_path: Path, full_hd: Path, tinting: Path
) -> None:
    output = tmp_path / "out.mp4"
    ran = in_shm_of(64, command_line("run", full_hd, "-o", output, "--preset", tinting))
    assert ran.returncode == 0, ran.stderr
    assert frames_of(output) == 24


def test_faces_of_full_hd_are_covered_in_less_too_with_less_look_ahead(
    tmp_path: Path, full_hd: Path, model_store: ModelStore
) -> None:
    output = tmp_path / "out.mp4"
    ran = in_shm_of(40, command_line("run", full_hd, "-o", output))
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("the frame ring has") == 1
    assert "track keeps 4 frames back instead of 10" in ran.stderr
    assert frames_of(output) == 24


def test_faces_of_ultra_hd_are_covered_in_64_mebibytes(
    tmp_path: Path, model_store: ModelStore
) -> None:
    ultra_hd = Clip(pts=range(6), size=(3840, 2160), options={"preset": "ultrafast"})
    clip, output = make(tmp_path / "ultra_hd.mp4", ultra_hd), tmp_path / "out.mp4"
    ran = in_shm_of(64, command_line("run", clip, "-o", output))
    assert ran.returncode == 0, ran.stderr
    assert frames_of(output) == 6


def test_a_budget_asked_for_bounds_the_ring_or_ends_with_exit_6(
    tmp_path: Path, full_hd: Path
) -> None:
    words = ("run", full_hd, "-o", tmp_path / "out.mp4", "--preset", "passthrough", "--memory")
    ran = in_shm_of(512, command_line(*words, "2"))
    assert ran.returncode == 6, ran.stderr
    assert "2 MiB may be used" in ran.stderr
    assert "raise --memory" in ran.stderr
    assert in_shm_of(512, command_line(*words, "40")).returncode == 0


FILLED_WHILE_IT_RUNS = """
    import errno, json, os, sys
    from pathlib import Path
    from runs import foreign, job_in, lines_of, pipeline_of
    from mpflow.session import Session

    folder, filled, full = Path(sys.argv[1]), [], []

    def fill(message):
        if message["kind"] != "progress" or filled:
            return
        with open("/dev/shm/other", "wb", buffering=0) as other:
            try:
                while True:
                    filled.append(other.write(bytes(1 << 16)))
            except OSError as error:
                assert error.errno == errno.ENOSPC
                full.append(os.statvfs("/dev/shm").f_bavail)

    numbers = foreign("Numbers", frames=120, delay_ms=5, width=640, height=480)
    with Session(fill) as session:
        session.open(pipeline_of(folder, numbers, foreign("Tint", workers=2), "Tally"))
        result = session.run(job := job_in(folder))
    assert result.error is None, result.error
    assert sum(filled) > 1 << 20, "nothing was left to fill"
    assert full == [0]
    print(json.dumps([[line["seq"], line["corner"], line["body"]] for line in lines_of(job)]))
"""


def test_a_shared_memory_that_fills_up_during_the_run_takes_nothing_from_it(
    tmp_path: Path,
) -> None:
    ran = in_shm_of(32, python(FILLED_WHILE_IT_RUNS, tmp_path))
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == [[n, n + 100, n] for n in range(120)]


FILLED_BEFORE_IT_IS_TAKEN = """
    import os, sys
    from mpflow import provision
    from mpflow.graph import Demand, comfortable_slots, minimum_slots
    from mpflow.spec import PipelineSpec, StageSpec, VideoInfo

    leaves, look = int(sys.argv[1]) << 20, provision.shared_memory_free

    def look_and_be_late():
        free = look()
        if not os.path.exists("/dev/shm/other"):
            with open("/dev/shm/other", "wb") as other:
                os.posix_fallocate(other.fileno(), 0, free - leaves)
        return free

    provision.shared_memory_free = look_and_be_late
    spec = PipelineSpec("p", (StageSpec("a", "x:Y"), StageSpec("b", "x:Y")))
    video = VideoInfo(0, "h264", 640, 480, "yuv420p", "yuv420p", (1, 25))
    demands = (Demand(), Demand(holds=2, max_batch=4))
    segment = provision.make_ring(spec, video, demands)
    slots = segment.geometry.slots
    assert minimum_slots(demands) <= slots < comfortable_slots(demands), slots
    segment.bytes[4096:] = bytes(len(segment.bytes) - 4096)  # SIGBUS, if any page were missing
    print(slots)
"""


def test_another_program_that_fills_it_between_look_and_taking_leaves_a_smaller_ring() -> None:
    ran = in_shm_of(64, python(FILLED_BEFORE_IT_IS_TAKEN, "5"))
    assert ran.returncode == 0, ran.stderr


def test_another_program_that_leaves_too_little_ends_the_run_with_the_cure() -> None:
    ran = in_shm_of(64, python(FILLED_BEFORE_IT_IS_TAKEN, "1"))
    assert ran.returncode == 1, ran.stderr
    assert "ResourceError" in ran.stderr and "enlarge /dev/shm" in ran.stderr
