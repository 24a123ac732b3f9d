"""What hurts users when a run ends early, a disk is full, or an input is damaged.

Each fault by its small reproduction, with the command as a user gives it. A full disk is also in
tests/cli/test_cli_bad_input.py and tests/media/test_output.py, signals, exit statuses and names
that are the same are in tests/cli/test_cli_runs.py too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numbered
import psutil
import pytest
from clips import Clip, make, make_rich, packets
from commands import LIMIT_S, Ran, command_line, environment
from runs import GONE_S, family

PASS = ("--preset", "passthrough")
PRESET = """
stages:
  - stage: decode
  - {{stage: 'trap_stages:Paint', options: {{habit: {habit}, at: [25], once: {marks}}}}}
  - {{stage: encode, options: {{codec: ffv1, chunk_seconds: 0.2}}}}
"""
CHUNK = 5


def start(folder: Path, *words: str | Path) -> subprocess.Popen[str]:
    """Start the command in a session of its own."""
    return subprocess.Popen(
        command_line(*words),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(run: subprocess.Popen[str]) -> Ran:
    """Wait for the end of a command."""
    out, err = run.communicate(timeout=LIMIT_S)
    return Ran(run.returncode, out, err)


def mpflow(folder: Path, *words: str | Path) -> Ran:
    """Run the command to its end."""
    return end(start(folder, *words))


def preset(folder: Path, habit: str = "") -> str:
    """A preset whose middle stage waits at frame 25, or does not."""
    marks = folder / (habit or "calm")
    marks.mkdir()
    path = marks.with_suffix(".yaml")
    path.write_text(PRESET.format(habit=habit or "''", marks=marks))
    return path.name


def strike_in_the_middle(folder: Path, words: list[str], number: signal.Signals) -> Ran:
    """Send a signal once every frame before the gate is written; if it kills, to the group."""
    gate = folder / "gate" / "gate-25"
    os.mkfifo(gate)
    run = start(folder, *words, "--json")
    assert run.stdout is not None
    if not any(json.loads(line).get("frame", 0) == 25 for line in run.stdout):
        pytest.fail(f"the run never came to its middle: {end(run).err}")
    everybody = family(run.pid)
    with gate.open("wb"):
        if number == signal.SIGKILL:
            os.killpg(run.pid, number)
        else:
            run.send_signal(number)
    ran = end(run)
    _, alive = psutil.wait_procs(everybody, timeout=GONE_S)
    assert not alive
    gate.unlink()
    return ran


def pictures(path: Path) -> list[numbered.Row]:
    """Time stamp and pixels of every picture."""
    with av.open(str(path)) as container:
        return numbered.rows(container.decode(video=0))


# A crash loses everything, there is no way to go on.


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where in.mkv, with sound and text, was made to calm.mkv in one go."""
    folder = tmp_path_factory.mktemp("calm")
    make_rich(folder / "in.mkv")
    ran = mpflow(folder, "run", "in.mkv", "-o", "calm.mkv", "--preset", preset(folder))
    assert ran.code == 0, ran.err
    return folder


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_killed_in_the_middle_goes_on_to_the_same_frames_times_and_sound(
    tmp_path: Path, calm: Path, number: signal.Signals
) -> None:
    source, output = str(calm / "in.mkv"), tmp_path / "out.mkv"
    words = ["run", source, "-o", "out.mkv", "--preset", preset(tmp_path, "gate")]
    struck = strike_in_the_middle(tmp_path, words, number)
    assert struck.code == (-9 if number == signal.SIGKILL else 143)
    assert not output.exists()
    assert_plays(tmp_path / "out.partial.mkv", number)
    again = mpflow(tmp_path, *words, "--resume", "--json")
    assert again.code == 0, again.err
    (done,) = again.events_called("done")
    assert done["report"]["resumed_at"] >= 2 * CHUNK
    assert pictures(output) == pictures(calm / "calm.mkv")
    assert len(pictures(output)) == 50
    with av.open(str(output)) as container:
        others = [s.index for s in container.streams if s.type in ("audio", "subtitle")]
    assert len(others) == 3
    for index in others:
        assert packets(output, index) == packets(calm / "calm.mkv", index)
    assert not Path(f"{output}.parts").exists()


# SIGTERM or a kill leaves a file that no player opens.


def assert_plays(path: Path, number: signal.Signals) -> None:
    """A killed run lacks no more than two chunks: one in the muxer, one in the coder."""
    assert len(pictures(path)) >= (CHUNK if number == signal.SIGKILL else 25)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_signal_leaves_is_a_file_that_plays(tmp_path: Path, number: signal.Signals) -> None:
    make(tmp_path / "in.mp4", Clip(pts=range(50), time_base=Fraction(1, 25), rate=25))
    words = ["run", "in.mp4", "-o", "out.mp4", "--preset", preset(tmp_path, "gate")]
    strike_in_the_middle(tmp_path, [*words, "--codec", "libx264"], number)
    assert_plays(tmp_path / "out.partial.mp4", number)
    assert not (tmp_path / "out.mp4").exists()


# Temporary frames fill the disk.

_FULL = """
mount -t tmpfs -o size=4m small "$0" && head -c 8m /dev/zero >"$0/full" 2>/dev/null
TMPDIR=$0 "$@"; code=$?; ls -A "$0"; exit $code
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a small file system")
def test_a_full_folder_for_temporary_files_is_not_needed_at_all(tmp_path: Path) -> None:
    make(tmp_path / "in.mp4", Clip(pts=range(60), size=(320, 240)))
    small = tmp_path / "small"
    small.mkdir()
    done = in_namespace(_FULL, small, "run", "in.mp4", "-o", "out.mp4", *PASS)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["full"]
    assert len(pictures(tmp_path / "out.mp4")) == 60


def in_namespace(script: str, place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command within a shell script that mounts something on ``place``."""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, str(place), *command_line(*words)],
        cwd=place.parent,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip("no file system may be mounted here")
    return done


# A full disk is seen as a broken pipe, an empty file, or success.

_SMALL = """
mount -t tmpfs -o size=200k small "$0"
"$@"; code=$?; ls -A "$0"; exit $code
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a small file system")
def test_a_full_disk_is_said_and_nothing_has_the_final_name(tmp_path: Path) -> None:
    """Chunks and the growing file take the same disk, and it is full in the middle of one."""
    make(tmp_path / "in.mp4", Clip(pts=range(90), size=(320, 240)))
    small = tmp_path / "small"
    small.mkdir()
    words = ("run", "in.mp4", "-o", "small/out.mp4", *PASS, "--crf", "0")
    done = in_namespace(_SMALL, small, *words, "--set", "encode.chunk_seconds=0.2")
    assert done.returncode == 6, done.stderr
    assert "disk is full" in done.stderr
    assert "Broken pipe" not in done.stderr
    assert "out.mp4" not in done.stdout.split()


# Input that is corrupt or cut short stops the run, or is lost in silence.


def overwritten(path: Path) -> None:
    """Bytes inside of the media data are others."""
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + len(data) // 20] = bytes(len(data) // 20)
    path.write_bytes(data)


def cut(path: Path) -> None:
    """The file ends after 60 % of its bytes."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 6 // 10])


@pytest.mark.parametrize("harm", [overwritten, cut])
@pytest.mark.parametrize("suffix", ["mkv", "mp4", "ts"])
def test_damaged_input_says_how_many_frames_were_expected_and_how_many_came(
    tmp_path: Path, suffix: str, harm: Callable[[Path], None]
) -> None:
    source = make(
        tmp_path / f"in.{suffix}",
        Clip(pts=range(120), options={"g": "10"}),
        **({"movflags": "faststart"} if suffix == "mp4" else {}),
    )
    harm(source)
    ran = mpflow(tmp_path, "run", source.name, "-o", "out.mkv", *PASS, "--json", "--strict")
    assert ran.code == 5, ran.err
    (done,) = ran.events_called("done")
    report = done["report"]
    read = report["frames_read"]
    assert read == report["frames_written"] == len(pictures(tmp_path / "out.mkv"))
    assert 60 <= read < (80 if harm is cut else 121)
    assert report["damaged"] or read < report["frames_expected"] == 120
    assert any(f"{read} of" in text or "damaged" in text for text in report["warnings"])


# Two jobs with the same file name clobber each other.


def test_two_runs_at_once_of_the_same_file_name_keep_their_own_output(tmp_path: Path) -> None:
    for folder, frames in (("one", 30), ("two", 60)):
        (tmp_path / folder).mkdir()
        make(tmp_path / folder / "a.mp4", Clip(pts=range(frames)))
    runs = [start(tmp_path, "run", f"{name}/a.mp4", *PASS) for name in ("one", "two")]
    ended = [end(run) for run in runs]
    assert [ran.code for ran in ended] == [0, 0], ended
    made = sorted(tmp_path.rglob("*.mp4"))
    assert sorted(len(pictures(path)) for path in made) == [30, 30, 60, 60]


def test_two_runs_at_once_into_one_name_are_one_output_and_one_refusal(tmp_path: Path) -> None:
    for folder, frames in (("one", 30), ("two", 60)):
        (tmp_path / folder).mkdir()
        make(tmp_path / folder / "a.mp4", Clip(pts=range(frames)))
    runs = [
        start(tmp_path, "run", f"{name}/a.mp4", "-o", "a.mp4", *PASS) for name in ("one", "two")
    ]
    frames = {0: 30, 1: 60}
    ended = [end(run) for run in runs]
    assert sorted(ran.code for ran in ended) == [0, 2], ended
    winner = [ran.code for ran in ended].index(0)
    assert len(pictures(tmp_path / "a.mp4")) == frames[winner]


# Exit status 0 after Ctrl-C, or though an input was left out.


def test_every_failed_input_and_ctrl_c_make_a_status_other_than_0(tmp_path: Path) -> None:
    for name in ("good.mp4", "also.mp4"):
        make(tmp_path / name, Clip(pts=range(50)))
    (tmp_path / "bad.mp4").write_text("no video")
    (tmp_path / "out").mkdir()
    batch = mpflow(tmp_path, "run", "good.mp4", "bad.mp4", "also.mp4", "-o", "out", *PASS)
    assert batch.code == 3, batch.err
    assert len(list((tmp_path / "out").iterdir())) == 2
    again = mpflow(tmp_path, "run", "good.mp4", "-o", "out/good.mp4", *PASS)
    assert again.code == 2, again.err
    words = ["run", "good.mp4", "also.mp4", "-o", "late", "--preset", preset(tmp_path, "gate")]
    struck = strike_in_the_middle(tmp_path, words, signal.SIGINT)
    assert struck.code == 130
    statuses = [event["status"] for event in struck.events_called("done")]
    assert statuses == ["stopped", "not run"]
