"""What waiting costs: batches, models that stay loaded, and stages that overlap.

What is measured, each part in turn over several rounds; medians count, ratios are what is claimed.

    batches    the detect stage on 1080p frames, so many at a time: milliseconds a frame for the
               input tensor, the network and the boxes together, with one thread and with all
    pipeline   decode -> detect on a 720p clip with batches of at most so many: frames a second,
               and how large the batches were that formed by themselves
    sessions   the same frame looked at with a model that is loaded for every frame, for every
               eight, and once
    overlap    the stages of a pipeline one after another in one process (serial.py), and as a
               pipeline: frames a second with an input that is always there, and the mean age of a
               frame at its output when eight frames arrive at once (bursting.py). Once with stages
               that sleep, which shows what the pipeline itself does (``allowed`` is what their
               delays allow), and once with the real ones, which share the cores: where these are
               busy with one frame after another already, no order of work makes frames younger

    python bench/bench_batching.py --out bench/results/batching.json
    python bench/bench_batching.py --quick
    python bench/bench_batching.py --only overlap
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clips import face_clip
from facts import come_first, load, machine_facts, write_results
from serial import run_serial

from mpflow.colour import Colour
from mpflow.config import resolve
from mpflow.memory import MemorySlot
from mpflow.report import Report
from mpflow.session import Session
from mpflow.spec import Job, JobSpec, PipelineSpec, StageSpec
from mpflow.stage import StageContext, Work
from mpflow.stages.decode import Decode
from mpflow.stages.detect import Detect, DetectOptions
from mpflow.tokens import Token

PACKAGES = ("numpy", "opencv-python", "onnxruntime", "av")
SIZES = (1, 2, 4, 8, 16)
MODELS = ("yunet", "centerface")
DELAYS_MS = (20.0, 40.0, 25.0, 20.0)
GROUP = 8
TARGETS = {"rate": 2.1, "latency": 1.7, "sessions": 98 / 62}


def slots_of(clip: Path, count: int) -> list[MemorySlot]:
    """The first frames of a clip in plain memory."""
    source = Decode(Decode.Options(), StageContext("decode"))
    source.open()
    spec = JobSpec("bench", str(clip))
    media = source.probe(spec)
    source.begin(Job(spec, media))
    video, slots = media.video, []
    for picture in source.pictures():
        slot = MemorySlot.of(video.pixel_format, video.width, video.height, Colour.from_tags(video))
        picture.fill(slot.frame())
        slots.append(slot)
        if len(slots) == count:
            break
    source.end()
    source.close()
    return slots


def look(detect: Detect, slots: Sequence[MemorySlot]) -> float:
    """Seconds for one batch."""
    began = time.perf_counter()
    for _ in detect.process([Work(Token("b", n), slot.frame()) for n, slot in enumerate(slots)]):
        pass
    return time.perf_counter() - began


def opened(threads: int, **options: Any) -> Detect:
    """A detect stage with its model loaded."""
    detect = Detect(DetectOptions(device="cpu", **options), StageContext("d", threads=threads))
    detect.open()
    return detect


def measure_batches(slots: Sequence[MemorySlot], rounds: int) -> dict[str, Any]:
    """Milliseconds a frame by model, threads and batch."""
    cores, table = len(os.sched_getaffinity(0)), {}
    for model in MODELS:
        score = 0.35 if model == "centerface" else 0.6
        for threads in sorted({1, cores}):
            detect = opened(threads, model=model, score=score, max_batch=max(SIZES))
            seen: dict[int, list[float]] = {size: [] for size in SIZES}
            for number in range(rounds + 1):
                for size in SIZES:
                    took = look(detect, slots[:size])
                    if number:  # the first round makes the arenas
                        seen[size].append(took * 1000 / size)
            table[f"{model}, {threads} thread{'s' * (threads > 1)}"] = {
                size: median(values) for size, values in seen.items()
            }
    return table


def measure_pipeline(clip: Path, frames: int, rounds: int) -> dict[str, Any]:
    """Frames a second of decode -> detect by the largest batch, and the batches that formed."""
    table: dict[str, Any] = {}
    for size in SIZES:
        options = {"detect.max_batch": size, "detect.device": "cpu"}
        spec = chosen("detect-only", options)
        reports = run_jobs(spec, clip, rounds + 1, suffix=".jsonl")[1:]
        detect = [report.stages[1] for report in reports]
        table[str(size)] = {
            "frames_per_s": median([frames / report.seconds for report in reports]),
            "mean_batch": median([stage.frames / stage.batches for stage in detect]),
            "detect_ms_per_frame": median([stage.busy * 1000 / frames for stage in detect]),
            "sessions": detect[-1].facts["sessions"],
        }
    return table


def chosen(preset: str, options: dict[str, Any]) -> PipelineSpec:
    """A shipped preset with some options."""
    flags = [(key, value, "bench") for key, value in options.items()]
    return resolve(preset, flags=flags, environ={}).spec


def run_jobs(spec: PipelineSpec, clip: Path, jobs: int, suffix: str) -> list[Report]:
    """The same job so many times in one session."""
    reports = []
    with tempfile.TemporaryDirectory() as folder, Session() as session:
        session.open(spec)
        for number in range(jobs):
            output = Path(folder) / f"{number}{suffix}"
            partial = output.with_name(f"{number}.partial{suffix}")
            result = session.run(JobSpec(f"{number}", str(clip), str(output), str(partial)))
            if result.error is not None:
                raise result.error
            reports.append(result.report)
    return reports


def measure_sessions(slots: Sequence[MemorySlot], frames: int) -> dict[str, Any]:
    """Milliseconds a frame when a model is loaded for every frame, for every eight, or once."""
    every = {"every frame": 1, "every 8 frames": 8, "once": frames}
    table: dict[str, Any] = {}
    for model in MODELS:
        score = 0.35 if model == "centerface" else 0.6
        times = {name: loading(model, score, slots[0], frames, n) for name, n in every.items()}
        table[model] = {
            **{name: round(value, 2) for name, value in times.items()},
            "every frame / once": round(times["every frame"] / times["once"], 2),
            "saved": round(1 - times["once"] / times["every frame"], 3),
            "target": round(TARGETS["sessions"], 2),
        }
    return table


def loading(model: str, score: float, slot: MemorySlot, frames: int, after: int) -> float:
    """Milliseconds a frame with a fresh session after so many frames."""
    began = time.perf_counter()
    for number in range(frames):
        if number % after == 0:
            detect = opened(1, model=model, score=score)
        look(detect, [slot])
    return (time.perf_counter() - began) * 1000 / frames


def allowed() -> dict[str, float]:
    """The ratios that the delays allow: the slowest stage sets the pace, the first frame of a
    group passes all stages, and each one behind it comes one step of the slowest later."""
    whole, slowest, behind = sum(DELAYS_MS), max(DELAYS_MS), (GROUP - 1) / 2
    age = (1 + behind) * whole / (whole + behind * slowest)
    return {"allowed_rate_ratio": round(whole / slowest, 2), "allowed_latency_ratio": round(age, 2)}


def sleeping(frames: int, period_ms: float = 0.0) -> PipelineSpec:
    """A pipeline of stages that sleep; with a period its frames come in groups."""
    groups = {"group": GROUP, "period_ms": period_ms}
    source = StageSpec("blank", "napping:Blank", {"frames": frames})
    if period_ms:
        source = StageSpec("burst", "bursting:Burst", {"frames": frames, **groups})
    naps = [
        StageSpec(f"nap{number}", "napping:Nap", {"ms": ms}) for number, ms in enumerate(DELAYS_MS)
    ]
    return PipelineSpec("overlap", (source, *naps, StageSpec("count", "napping:Count")))


def redacting(period_ms: float = 0.0) -> PipelineSpec:
    """The redact preset without look-ahead, which one process cannot do; with a period its frames
    come in groups."""
    flags = {"encode.encoder_preset": "veryfast", "encode.crf": 18, "detect.device": "cpu"}
    flags |= {"detect.every": 1, "track.ahead": 0}
    spec = chosen("redact", flags)
    if not period_ms:
        return spec
    source, *rest = spec.stages
    options = {**source.options, "group": GROUP, "period_ms": period_ms}
    source = StageSpec(source.name, "bursting:BurstDecode", options)
    return PipelineSpec(spec.preset, (source, *rest), privacy=spec.privacy)


def overlap(
    made: Callable[[float], PipelineSpec], clip: Path, frames: int, rounds: int, suffix: str
) -> dict[str, Any]:
    """Rates and ages, one after another and as a pipeline, in turn."""
    seen: dict[str, list[float]] = {
        name: [] for name in ("serial rate", "rate", "serial age", "age")
    }
    for _ in range(rounds):
        alone = serially(made(0.0), clip, suffix)
        seen["serial rate"].append(frames / alone.wall)
        seen["rate"].append(frames / run_jobs(made(0.0), clip, 2, suffix)[-1].seconds)
        # time enough for one after another, which is the slower one, and some air
        period = alone.wall / frames * GROUP * 1300
        seen["serial age"].append(statistics.mean(serially(made(period), clip, suffix).latencies))
        report = run_jobs(made(period), clip, 2, suffix)[-1]
        assert report.latency is not None
        seen["age"].append(report.latency.whole.mean)
    rate = [a / b for a, b in zip(seen["rate"], seen["serial rate"], strict=True)]
    age = [a / b for a, b in zip(seen["serial age"], seen["age"], strict=True)]
    return {
        "serial_frames_per_s": median(seen["serial rate"]),
        "pipeline_frames_per_s": median(seen["rate"]),
        "rate_ratio": median(rate),
        "rate_target": TARGETS["rate"],
        "serial_age_ms": median([1000 * value for value in seen["serial age"]]),
        "pipeline_age_ms": median([1000 * value for value in seen["age"]]),
        "latency_ratio": median(age),
        "latency_target": TARGETS["latency"],
    }


def serially(spec: PipelineSpec, clip: Path, suffix: str) -> Any:
    """One after another, the second time: nothing is cold."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / f"out{suffix}"
        partial = output.with_name(f"out.partial{suffix}")
        job = JobSpec("serial", str(clip), str(output), str(partial), overwrite=True)
        return run_serial(spec, job, jobs=2)


def median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 3)


def main() -> None:
    """Measure, show, and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frames", type=int, default=160)
    parser.add_argument("--clips", type=Path, default=Path(tempfile.gettempdir()) / "mpflow-bench")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--only", default="", help="parts whose names have this in them")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    asked = parser.parse_args()
    come_first(asked.nice)
    sys.path.insert(0, str(Path(__file__).parent))
    rounds, frames = (1, 32) if asked.quick else (asked.rounds, asked.frames)
    large = face_clip(asked.clips, 1920, 1080, frames)
    small = face_clip(asked.clips, 1280, 720, frames)
    slots = slots_of(large, max(SIZES))
    facts = machine_facts(PACKAGES)
    parts: dict[str, Callable[[], Any]] = {
        "batches_ms_per_frame": lambda: measure_batches(slots, 2 * rounds),
        "pipeline_by_largest_batch": lambda: measure_pipeline(small, frames, rounds),
        "sessions_ms_per_frame": lambda: measure_sessions(slots, 16 * (1 + (not asked.quick))),
        "overlap_sleeping": lambda: {
            **overlap(lambda period: sleeping(frames, period), Path("blank"), frames, rounds, ""),
            **allowed(),
        },
        "overlap_redact_1080p": lambda: overlap(redacting, large, frames, rounds, ".mp4"),
    }
    results: dict[str, Any] = {
        "bench": "bench/bench_batching.py",
        "settings": {"rounds": rounds, "frames": frames, "delays_ms": DELAYS_MS, "group": GROUP},
        "machine": facts,
    }
    for name in [name for name in parts if asked.only in name]:
        part = parts[name]
        results[name] = part()
        print(f"{name}: {json.dumps(results[name], indent=1)}", flush=True)
    results["machine"]["load_average_after"] = load()
    if asked.out is not None:
        write_results(asked.out, results)


if __name__ == "__main__":
    main()
