"""Privacy: how many frames of an output still show a face, and what looking less often costs.

Contestants, on the same clips and with the same encoder settings:

    input               the clip itself: what there is to be hidden
    every frame         detect, redact: a look at each frame
    auto                the same with detect.every=auto
    track ...           with weak finds and a tracker between
    ... 960             with a scaled picture of 960 pixels instead of 640
    deface              deface as it comes

Clips: the talking man (176x144), a part of the man before a camera (360x288), and the takes of
tests/support/faceclips.py (occlusion, fast motion, profile, small faces, cuts ...) with their
truth. Exposure is judged by CenterFace, deface's own detector (bench/exposure.py). Speed is that of
whole runs at 1080p, in turn with a plain transcode: on the clip of bench/clips.py, where covers are
half of the picture, and on takes with one or two people.

    python -m venv /tmp/deface && /tmp/deface/bin/pip install deface onnxruntime
    python bench/bench_privacy.py --deface /tmp/deface/bin/deface --out bench/results/privacy.json

``--only exposure`` or ``--only speed`` runs one half. Exposure does not depend on how busy the
machine is.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import yaml
from bench_run import CODING, PACKAGES, cpu_table, deface, ffmpeg, mpflow
from clips import face_clip
from exposure import SCORES, Faces, Judge, exposure, faces_in, unchanged
from facts import come_first, load, machine_facts, write_results
from watched import Watched, watch

from mpflow.models.store import ModelStore

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
import faceclips

TARGETS = {"exposure / deface": 0.1, "track auto 960 / ffmpeg": 0.85}
TALK = ("crossing", "occluded", "profile", "doors", "lights")
VISIBLE = 0.5  # the least share of a face that has to be covered

VARIANTS: dict[str, list[Any]] = {
    "every frame": [{"every": 1}, None],
    "auto": [{"every": "auto"}, None],
    "track auto": [{"every": "auto", "weak": 0.3}, {}],
    "track every frame 960": [{"every": 1, "weak": 0.3, "side": 960}, {}],
    "track auto 960": [{"every": "auto", "weak": 0.3, "side": 960}, {}],
}
"""Options of detect, and of track, which is left out where they are None."""


@dataclass(frozen=True)
class Subject:
    """A clip, the true faces of its frames, and how large the judge sees it."""

    name: str
    path: Path
    true: Faces
    judge: Judge
    takes: tuple[faceclips.TakeSpan, ...] = ()


def preset(folder: Path, name: str) -> Path:
    """A preset file of one variant."""
    detect, track = VARIANTS[name]
    between = [] if track is None else [{"stage": "track", "options": track}]
    stages = [
        {"stage": "decode"},
        {"stage": "detect", "options": detect},
        *between,
        {"stage": "redact"},
        {"stage": "encode"},
    ]
    path = folder / f"{name.replace(' ', '-')}.yaml"
    path.write_text(yaml.safe_dump({"description": name, "privacy": True, "stages": stages}))
    return path


def subjects(
    folder: Path, frames: int, height: int, part: int, takes: list[str] | None
) -> list[Subject]:
    """The clips and what they show; with ``takes``, only these of the photo clip."""
    store = ModelStore()
    photos = faceclips.face_clip(store, folder, height=height, takes=takes, frames=frames)
    seen = [[m.box for m in marks if m.visible >= VISIBLE] for marks in photos.truth.frames]
    made = [Subject("photos", photos.path, seen, Judge.at(height * 4 // 3), photos.truth.takes)]
    for name in () if takes else ("carphone", "franck"):
        path = excerpt(store.path(name), folder / f"{name}-{part}.mp4", part)
        judge = Judge.at(352)
        made.append(Subject(name, path, faces_in(path, judge), judge))
    return made


def excerpt(source: Path, target: Path, frames: int) -> Path:
    """The first frames of a clip, at a quality that is as good as none lost."""
    if not target.exists():
        binary = imageio_ffmpeg.get_ffmpeg_exe()
        options = ["-frames:v", str(frames), "-an", "-c:v", "libx264", "-crf", "8"]
        words = [binary, "-v", "error", "-y", "-i", str(source), *options, str(target)]
        subprocess.run(words, check=True)
    return target


Maker = Callable[[Path, Path], list[str]]


def makers(folder: Path, names: list[str], deface_program: str) -> dict[str, Maker]:
    """The command of each contestant, for a clip and an output."""
    made: dict[str, Maker] = {
        name: partial(mpflow, preset=str(preset(folder, name))) for name in names
    }
    if deface_program:
        config = {"codec": "libx264", "quality": None, "output_params": list(CODING)}
        words = ("--ffmpeg-config", json.dumps(config))
        made["deface"] = lambda clip, output: [
            word for word in deface(clip, output, deface_program, *words) if word != "--keep-audio"
        ]
    return made


def measure_exposure(made: dict[str, Maker], clips: list[Subject], folder: Path) -> dict[str, Any]:
    """What every contestant's output of every clip still shows."""
    table: dict[str, Any] = {}
    for clip in clips:
        rows = {"input": exposure(clip.path, clip.true, clip.judge)}
        for name, maker in made.items():
            output = folder / f"out-{clip.name}-{name.replace(' ', '-')}.mp4"
            output.unlink(missing_ok=True)
            watch(maker(clip.path, output))
            rows[name] = exposure(output, clip.true, clip.judge)
            rows[name]["unchanged"] = unchanged(output, clip.path, clip.true)
        for name, row in rows.items():
            if clip.takes:
                row["takes"] = by_take(row, clip.takes)
            print(f"{clip.name:10} {name:20} {row['exposed']} of {row['frames_with_faces']}")
        table[clip.name] = rows
    return table


def by_take(row: dict[str, Any], takes: tuple[faceclips.TakeSpan, ...]) -> dict[str, int]:
    """Exposed frames of each take, at the middle score."""
    exposed = [number for run in row["which"][str(SCORES[1])] for number in numbers(run)]
    return {
        take.name: sum(take.first <= number < take.first + take.frames for number in exposed)
        for take in takes
    }


def numbers(run: str) -> range:
    """The frames of ``first-last``."""
    first, _, last = run.partition("-")
    return range(int(first), int(last or first) + 1)


def against_deface(table: dict[str, Any]) -> dict[str, Any]:
    """Exposed frames over all clips, and their ratio to deface's, at each score."""
    sums = {
        name: {
            str(s): sum(rows[name]["exposed"][str(s)] for rows in table.values()) for s in SCORES
        }
        for name in next(iter(table.values()))
    }
    if "deface" not in sums:
        return {"frames": sums}
    ratios = {
        name: {s: round(count / max(1, sums["deface"][s]), 3) for s, count in row.items()}
        for name, row in sums.items()
    }
    return {"frames": sums, "to deface": ratios, "target": TARGETS["exposure / deface"]}


def speed_clips(folder: Path, frames: int) -> dict[str, tuple[Path, int]]:
    """Up to six faces, half of the picture under their covers; and one or two, as people talk."""
    each = max(1, frames // len(TALK))
    talk = faceclips.face_clip(ModelStore(), folder, height=1080, takes=TALK, frames=each)
    return {
        "six faces": (face_clip(folder, 1920, 1080, frames), frames),
        "one or two faces": (talk.path, each * len(TALK)),
    }


def measure_speed(made: dict[str, Maker], folder: Path, frames: int, rounds: int) -> dict[str, Any]:
    """Frames a second and CPU time of each, round by round in turn, against a plain transcode."""
    everybody: dict[str, Maker] = {"ffmpeg": ffmpeg, **made}
    table = {}
    for title, (clip, count) in speed_clips(folder, frames).items():
        seen: dict[str, list[Watched]] = {name: [] for name in everybody}
        for number in range(rounds):
            for name, maker in everybody.items():
                output = folder / "out.mp4"
                output.unlink(missing_ok=True)
                run = watch(maker(clip, output))
                seen[name].append(run)
                rate, work = count / run.wall, sum(run.cpu.values()) * 1000 / count
                print(f"{title} {number + 1}: {name:22} {rate:6.2f} frames/s, {work:5.1f} ms CPU")
        plain = seen["ffmpeg"]
        table[title] = {
            f"{name} / ffmpeg": against(name, count, seen[name], plain) for name in made
        }
    return table


def against(name: str, frames: int, runs: list[Watched], plain: list[Watched]) -> dict[str, Any]:
    """The ratios of each round and their medians: of the speed, and of the CPU time's inverse."""
    pairs = list(zip(runs, plain, strict=True))
    speed = [other.wall / run.wall for run, other in pairs]
    work = [sum(other.cpu.values()) / sum(run.cpu.values()) for run, other in pairs]
    return {
        "speed": round(statistics.median(speed), 3),
        "speed_all": [round(each, 3) for each in speed],
        "cpu": round(statistics.median(work), 3),
        "cpu_ms_per_frame": cpu_table(frames, runs),
        "target": TARGETS.get(f"{name} / ffmpeg"),
    }


def main() -> None:
    """Measure, print, and keep everything as JSON if asked."""
    parser = argparse.ArgumentParser(description="Measure what outputs still show, and the speed.")
    parser.add_argument("--deface", default="", help="the deface program, in its own environment")
    parser.add_argument("--only", choices=("exposure", "speed"))
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--frames", type=int, default=60, help="of each take of the photo clip")
    parser.add_argument("--height", type=int, default=720, help="of the photo clip")
    parser.add_argument("--takes", nargs="*", help="only these takes of the photo clip")
    parser.add_argument("--part", type=int, default=600, help="frames of the other clips")
    parser.add_argument("--speed-frames", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clips", type=Path, default=Path(tempfile.gettempdir()) / "mpflow-bench")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    come_first(asked.nice)
    asked.clips.mkdir(parents=True, exist_ok=True)
    facts = machine_facts(PACKAGES)
    made = makers(asked.clips, asked.variants, asked.deface)
    results: dict[str, Any] = {"bench": "bench/bench_privacy.py", "machine": facts}
    if asked.only != "speed":
        clips = subjects(asked.clips, asked.frames, asked.height, asked.part, asked.takes)
        results["exposure"] = measure_exposure(made, clips, asked.clips)
        results["exposure_sums"] = against_deface(results["exposure"])
        print(json.dumps(results["exposure_sums"], indent=2))
    if asked.only != "exposure":
        ours = {name: maker for name, maker in made.items() if name != "deface"}
        results["speed"] = measure_speed(ours, asked.clips, asked.speed_frames, asked.rounds)
        print(json.dumps(results["speed"], indent=2))
    facts["load_average_after"] = load()
    if asked.out is not None:
        write_results(asked.out, results)


if __name__ == "__main__":
    main()
