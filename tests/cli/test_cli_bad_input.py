"""Every bad input: a sentence that names the thing, the documented status, nothing left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from click.testing import Result
from commands import LIMIT_S, Command, command_line
from runs import nothing_left

Invoke = Callable[..., Result]

PASS = ("--preset", "passthrough")


def text_file(folder: Path) -> Path:
    path = folder / "in.mp4"
    path.write_text("this is no video\n" * 200)
    return path


def zero_bytes(folder: Path) -> Path:
    path = folder / "in.mp4"
    path.touch()
    return path


def sound_alone(folder: Path) -> Path:
    path = folder / "in.m4a"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=48000, layout="mono")
        for start in range(0, 10240, 1024):
            part = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
            part.sample_rate, part.pts, part.time_base = 48000, start, Fraction(1, 48000)
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))
    return path


def empty_folder(folder: Path) -> Path:
    path = folder / "videos"
    path.mkdir()
    return path


def nothing_there(folder: Path) -> Path:
    return folder / "in.mp4"


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (nothing_there, "no file"),
        (empty_folder, "no video in it"),
        (text_file, "not a"),
        (zero_bytes, "is empty"),
        (sound_alone, "no picture"),
    ],
)
def test_bad_input_is_status_3(
    mpflow: Command, here: Path, bad: Callable[[Path], Path], says: str
) -> None:
    source = bad(here)
    with nothing_left(here):
        ran = mpflow("run", source, "-o", "out.mp4", *PASS)
    assert ran.code == 3
    assert says in ran.err
    assert source.name in ran.err
    assert "cure: " in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--preset", "redcat"], "did you mean redact"),
        (["--preset", "mine.yaml"], "does not exist"),
        (["--set", "encode.codecc=ffv1"], "did you mean encode.codec?"),
        (["--set", "blur.size=3"], "unknown key 'blur.size'"),
        (["--set", "encode.crf"], "is not KEY=VALUE"),
        (["--set", "encode.crf=low"], "encode.crf"),
        (["--encoder-option", "nonsense"], "is not KEY=VALUE"),
        (["--config", "gone.yaml"], "does not exist"),
        (["-y", "-n"], "contradict"),
        (["-o", "gone/out.mp4"], "does not exist"),
        (["-o", "faces.jsonl"], "--preset detect-only writes"),
        (["-o", "short.mp4"], "same file as input"),
        (["--json", "-o", "-"], "standard output"),
    ],
)
def test_wrong_usage_is_status_2(
    invoke: Invoke, here: Path, short_clip: Path, words: list[str], says: str
) -> None:
    shutil.copy(short_clip, here / "short.mp4")
    output = [] if "-o" in words else ["-o", "out.mp4"]
    preset = () if "--preset" in words else PASS
    answer = invoke("run", "-i", "short.mp4", *output, *preset, *words, "--dry-run")
    assert answer.exit_code == 2
    assert says in answer.stderr
    assert "cure: " in answer.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--set", "encode.codecc=ffv1"], "did you mean encode.codec?"),
        (["--codec", "libx265x"], "did you mean libx265"),
        (["--encoder-option", "nonsense=1"], "no option 'nonsense'"),
        (["-o", "/proc/out.mp4"], "/proc"),
    ],
)
def test_a_run_refused_leaves_nothing(
    mpflow: Command, here: Path, short_clip: Path, words: list[str], says: str
) -> None:
    output = [] if "-o" in words else ["-o", "out.mp4"]
    with nothing_left(here):
        ran = mpflow("run", "-i", short_clip, *output, *PASS, *words)
    assert ran.code == 2, ran.err
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_unknown_stage_of_a_preset_is_status_2(
    mpflow: Command, here: Path, short_clip: Path
) -> None:
    Path("mine.yaml").write_text("stages: [{stage: decode}, {stage: blurr}, {stage: encode}]")
    ran = mpflow("run", short_clip, "-o", "out.mp4", "--preset", "mine.yaml")
    assert ran.code == 2
    assert "unknown stage 'blurr'" in ran.err


def test_existing_output_names_the_flags_and_is_left_alone(
    mpflow: Command, here: Path, short_clip: Path
) -> None:
    output = here / "out.mp4"
    output.write_bytes(b"precious")
    ran = mpflow("run", short_clip, "-o", output, *PASS)
    assert (ran.code, output.read_bytes()) == (2, b"precious")
    assert "-y overwrites" in ran.err
    ran = mpflow("run", short_clip, "-o", output, *PASS, "-n")
    assert (ran.code, output.read_bytes()) == (0, b"precious")
    assert "skipped" in ran.err
    ran = mpflow("run", short_clip, "-o", output, *PASS, "-y")
    assert ran.code == 0
    assert output.stat().st_size > 1000


@pytest.mark.slow
def test_damaged_packets_are_counted_and_strict_makes_them_status_5(
    mpflow: Command, here: Path, long_clip: Path
) -> None:
    data = bytearray(long_clip.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 4000] = bytes(4000)
    Path("damaged.mp4").write_bytes(data)
    ran = mpflow("run", "damaged.mp4", "-o", "out.mp4", *PASS, "--json")
    assert ran.code == 0, ran.err
    damaged = ran.events_called("done")[0]["report"]["damaged"]
    if damaged == 0:
        pytest.skip("this FFmpeg conceals the damage without a word")
    ran = mpflow("run", "damaged.mp4", "-o", "out.mp4", *PASS, "-y", "--strict")
    assert ran.code == 5
    assert "damaged" in ran.err
    assert Path("out.mp4").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a small file system")
def test_full_disk_is_status_6_and_leaves_nothing_under_the_final_name(
    here: Path, long_clip: Path
) -> None:
    small = here / "small"
    small.mkdir()
    command = command_line("run", long_clip, "-o", small / "out.mp4", *PASS, "--crf", "1")
    script = (
        'mount -t tmpfs -o size=200k tmpfs small && shift && "$@"; code=$?; ls small; exit $code'
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", "-", *command],
        cwd=here,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("no file system may be mounted here")
    assert done.returncode == 6, done.stderr
    assert "disk is full" in done.stderr
    assert "out.mp4" not in done.stdout.split()
