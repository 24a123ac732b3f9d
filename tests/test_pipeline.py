"""The Python door: the same run and the same errors, from a script, a thread or a notebook cell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
import yaml
from runs import foreign, nothing_left

import mpflow
from mpflow.errors import (
    ConfigError,
    ContractError,
    InputError,
    OutputError,
    Refused,
    StageDied,
)

SUPPORT = str(Path(__file__).parent / "support")


@pytest.fixture
def preset(tmp_path: Path) -> str:
    """Sixty numbered frames, tinted; the sink is replaced by the caller in a Pipeline."""
    return write_preset(tmp_path, foreign("Numbers", frames=60), foreign("Tint"), foreign("Tally"))


def write_preset(folder: Path, *stages: dict) -> str:
    path = folder / "numbers.yaml"
    path.write_text(yaml.safe_dump({"stages": list(stages)}))
    return str(path)


@pytest.fixture
def source(tmp_path: Path) -> str:
    """An input that exists; the synthetic source does not read it."""
    path = tmp_path / "source.mp4"
    path.write_bytes(b"numbers")
    return str(path)


def test_a_pipeline_yields_every_token_and_frame_in_order(preset: str, source: str) -> None:
    seen = []
    with mpflow.Pipeline(mpflow.RunSpec(source, preset=preset)) as pipeline:
        for token, frame in pipeline:
            luma = frame.planes[0]
            seen.append((token.seq, int(luma[0, 0]), int(luma[-1, -1])))
            del luma
    assert seen == [(n, n + 100, n) for n in range(60)]
    assert pipeline.report is not None
    assert pipeline.report.frames_read == pipeline.report.frames_written == 60
    assert [stage.name for stage in pipeline.report.stages] == ["numbers", "tint", "caller"]


def test_a_frame_ends_when_the_next_one_is_asked_for(preset: str, source: str) -> None:
    with mpflow.Pipeline(mpflow.RunSpec(source, preset=preset)) as pipeline:
        frames = iter(pipeline)
        _, first = next(frames)
        next(frames)
        with pytest.raises(mpflow.MpflowError, match="frame"):
            _ = first.planes


def test_leaving_early_ends_the_run_and_leaves_nothing(
    preset: str, source: str, tmp_path: Path
) -> None:
    with nothing_left(tmp_path):
        with mpflow.Pipeline(mpflow.RunSpec(source, preset=preset)) as pipeline:
            for token, _ in pipeline:
                if token.seq == 3:
                    break
        assert pipeline.report is None


def test_a_loop_left_early_cannot_be_begun_again(preset: str, source: str) -> None:
    with mpflow.Pipeline(mpflow.RunSpec(source, preset=preset)) as pipeline:
        for _ in pipeline:
            break
        with pytest.raises(ConfigError, match="left early"):
            next(iter(pipeline))


def test_a_pipeline_can_be_looped_over_again_when_it_was_looped_to_the_end(
    preset: str, source: str
) -> None:
    with mpflow.Pipeline(mpflow.RunSpec(source, preset=preset)) as pipeline:
        assert [sum(1 for _ in pipeline) for _ in range(2)] == [60, 60]


def test_a_caller_that_keeps_every_plane_is_named(preset: str, source: str) -> None:
    kept = []
    spec = mpflow.RunSpec(source, preset=preset, set={"slots": 4})
    with (
        pytest.raises(ContractError, match="caller keeps pixels of 4 frames"),
        mpflow.Pipeline(spec) as pipeline,
    ):
        for _, frame in pipeline:
            kept.append(frame.planes[0])


def test_paths_may_be_path_objects(preset: str, source: str, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    spec = mpflow.RunSpec(Path(source), output, preset=preset)
    assert mpflow.run(spec).complete
    with pytest.raises(OutputError, match="overwrite=True"):
        mpflow.run(spec)
    with pytest.raises(ConfigError, match="is a folder"):
        mpflow.run(mpflow.RunSpec(tmp_path, tmp_path / "o.jsonl", preset=preset))


def test_offline_refuses_a_url_and_hides_its_password(preset: str) -> None:
    spec = mpflow.RunSpec("http://bob:p@ss@127.0.0.1:9/x.mp4", preset=preset, set={"offline": True})
    with (
        pytest.raises(Refused, match="on the network") as caught,
        mpflow.Pipeline(spec) as pipeline,
    ):
        next(iter(pipeline))
    assert caught.value.exit_status == 4
    assert "***@127.0.0.1" in str(caught.value)
    assert "bob" not in str(caught.value) and "ss@" not in str(caught.value)


def test_an_exception_of_the_caller_goes_through_and_leaves_nothing(
    preset: str, source: str, tmp_path: Path
) -> None:
    class OurFault(Exception):
        """Raised in the caller's loop."""

    with (
        nothing_left(tmp_path),
        pytest.raises(OurFault),
        mpflow.Pipeline(mpflow.RunSpec(source, preset=preset)) as pipeline,
    ):
        for _ in pipeline:
            raise OurFault


def test_a_dead_stage_reaches_the_caller_as_its_error(source: str, tmp_path: Path) -> None:
    preset = write_preset(
        tmp_path, foreign("Numbers"), foreign("Tint", habit="kill", at=5), foreign("Tally")
    )
    with (
        nothing_left(tmp_path),
        pytest.raises(StageDied, match="tint"),
        mpflow.Pipeline(mpflow.RunSpec(source, preset=preset)) as pipeline,
    ):
        for _ in pipeline:
            pass


def test_run_gives_the_report_and_raises_what_the_command_line_says(
    preset: str, source: str, tmp_path: Path
) -> None:
    output = str(tmp_path / "out.jsonl")
    report = mpflow.run(mpflow.RunSpec(source, output, preset=preset))
    assert report.complete and report.frames_written == 60
    bad = tmp_path / "bad.mp4"
    bad.write_bytes(b"x")
    with pytest.raises(InputError) as caught:
        mpflow.run(mpflow.RunSpec(str(bad), str(tmp_path / "bad.jsonl"), preset=preset))
    assert caught.value.exit_status == 3 and "is bad" in caught.value.what


def test_usage_is_checked_before_anything_starts(source: str, preset: str) -> None:
    with pytest.raises(ConfigError, match="needs an output"):
        mpflow.run(mpflow.RunSpec(source, preset=preset))
    with pytest.raises(ConfigError, match="has no output"):
        mpflow.Pipeline(mpflow.RunSpec(source, "out.mp4", preset=preset))
    with pytest.raises(ConfigError, match="not open"):
        next(iter(mpflow.Pipeline(mpflow.RunSpec(source, preset=preset))))
    with pytest.raises(ConfigError, match=r"tint\.nope"):
        mpflow.run(mpflow.RunSpec(source, "o.jsonl", preset=preset, set={"tint.nope": 1}))


def test_it_works_in_a_thread_and_installs_no_signal_handler(preset: str, source: str) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    counted: list[int] = []

    def count() -> None:
        with mpflow.Pipeline(mpflow.RunSpec(source, preset=preset)) as pipeline:
            counted.append(sum(1 for _ in pipeline))

    threads = [threading.Thread(target=count) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted == [60, 60]
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]


SCRIPT = """
import sys, mpflow
print("started", flush=True)
with mpflow.Pipeline(mpflow.RunSpec(sys.argv[1], preset=sys.argv[2])) as pipeline:
    for token, frame in pipeline:
        print(token.seq, flush=True)
"""


@pytest.mark.parametrize("how", ["file", "cell"])
def test_an_unguarded_script_and_a_cell_run_once(
    how: str, preset: str, source: str, tmp_path: Path
) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(SCRIPT)
    program = [str(script)] if how == "file" else ["-c", SCRIPT]
    done = subprocess.run(
        [sys.executable, *program, source, preset],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": SUPPORT},
    )
    assert done.stdout.split() == ["started", *map(str, range(60))]
    assert done.stderr == ""


def test_a_caller_that_dies_ends_the_run(source: str, tmp_path: Path) -> None:
    preset = write_preset(
        tmp_path, foreign("Numbers", frames=100_000), foreign("Tint"), foreign("Tally")
    )
    with nothing_left(tmp_path):
        caller = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, source, preset],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": SUPPORT},
        )
        assert caller.stdout is not None
        for line in caller.stdout:
            if line.strip() == "5":
                break
        below = psutil.Process(caller.pid).children(recursive=True)
        assert len(below) >= 3
        caller.kill()
        caller.wait()
        caller.stdout.close()
        _, alive = psutil.wait_procs(below, timeout=20)
        assert not alive


def test_the_package_offers_its_names_lazily_and_is_typed() -> None:
    code = "import sys, mpflow; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert set(mpflow.__all__) <= {*dir(mpflow), *mpflow.__all__}
    for name in mpflow.__all__:
        assert getattr(mpflow, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = mpflow.nothing
    assert (Path(mpflow.__file__).parent / "py.typed").is_file()
