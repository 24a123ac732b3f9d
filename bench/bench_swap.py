"""What a swap costs, stage by stage, as a pipeline and serially; and how much made faces flicker.

cost        the preset without look-ahead, one frame after another in one process with one thread:
            milliseconds of CPU time a frame by stage (serial.py)
pipeline    the same stages with all cores, serially (serial.py) and as a pipeline, in turn: frames
            a second, and CPU time a frame of all processes. Once with the mesh, and once with a
            generated network of INSwapper's contract (heavyswapper.py), a frame's faces at a time
            and those of up to eight frames together
flicker     the mean second difference of luma in the face's box from frame to frame, of the output
            over that of the input, with colours and edges steadied along the track and not
embeddings  how many made faces were held against their source, and how like it they were

The clip: two takes of tests/support/faceclips.py at 720p, with one and two people.

    python bench/bench_swap.py --out bench/results/swap.json
    python bench/bench_swap.py --quick

Where the machine is busy with other things, CPU times in turn are worth more than rates.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import av
import msgspec
import numpy as np
import psutil
from bench_batching import chosen, median
from facts import come_first, load, machine_facts, write_results
from heavyswapper import GIGA_MULTIPLICATIONS, heavy_swapper
from serial import Serial, run_serial

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import fits
from faceclips import face_clip

from mpflow.models.store import ModelStore
from mpflow.report import Report
from mpflow.session import Session
from mpflow.spec import JobSpec, PipelineSpec

PACKAGES = ("numpy", "opencv-python", "onnxruntime", "av")
TAKES = ("crossing", "lights")
# the pipeline of one process cannot keep a frame back for later ones
PLAIN = {"detect.every": 1, "track.ahead": 0, "landmarks.ahead": 0}
CODING = {"encode.encoder_preset": "veryfast", "encode.crf": 18}
FLICKERING = {"carphone": "astronaut", "franck": "person-a-2"}


def preset(store: ModelStore, **settings: Any) -> PipelineSpec:
    """The swap preset for one source."""
    sources = {"swap.sources": [str(store.path("astronaut"))]}
    return chosen("swap", {**sources, **PLAIN, **CODING, **settings})


def variants(store: ModelStore, folder: Path) -> dict[str, PipelineSpec]:
    """What is measured."""
    network = {"swap.model": str(heavy_swapper(folder)), "swap.device": "cpu"}
    return {
        "mesh": preset(store),
        "network 128": preset(store, **network),
        "network 128, up to 8 frames": preset(store, **network, **{"swap.max_batch": 8}),
    }


def job_in(folder: str, clip: Path, name: str) -> JobSpec:
    """A job whose output is thrown away."""
    output = Path(folder) / f"{name}.mp4"
    partial = output.with_name(f"{name}.partial.mp4")
    return JobSpec(name, str(clip), str(output), str(partial), overwrite=True)


def serially(spec: PipelineSpec, clip: Path, threads: int = 0) -> Serial:
    """One frame after another."""
    with tempfile.TemporaryDirectory() as folder:
        return run_serial(spec, job_in(folder, clip, "serial"), threads=threads)


def piped(spec: PipelineSpec, clip: Path) -> tuple[Report, float]:
    """The report of a job, and the CPU time of all processes in it; models were loaded before."""
    with tempfile.TemporaryDirectory() as folder, Session() as session:
        session.open(spec)
        before = cpu_of(session.pid)
        result = session.run(job_in(folder, clip, "piped"))
        if result.error is not None:
            raise result.error
        return result.report, cpu_of(session.pid) - before


def cpu_of(pid: int) -> float:
    """The CPU time of a process and all below it, in seconds."""
    root = psutil.Process(pid)
    times = [each.cpu_times() for each in (root, *root.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def measure(spec: PipelineSpec, clip: Path, frames: int, rounds: int) -> dict[str, Any]:
    """Costs of the stages, and both ways to run them, in turn."""
    cost: dict[str, list[float]] = {stage.name: [] for stage in spec.stages}
    seen: dict[str, list[float]] = {key: [] for key in ("rate", "serial rate", "cpu", "serial cpu")}
    for _ in range(rounds):
        for name, used in serially(spec, clip, threads=1).cpu.items():
            cost[name].append(used * 1000 / frames)
        alone = serially(spec, clip)
        report, cpu = piped(spec, clip)
        seen["serial rate"].append(frames / alone.wall)
        seen["serial cpu"].append(sum(alone.cpu.values()) * 1000 / frames)
        seen["rate"].append(frames / report.seconds)
        seen["cpu"].append(cpu * 1000 / frames)
    swap = next(stage for stage in report.stages if stage.name == "swap")
    return {
        "cost_ms_per_frame": {name: median(values) for name, values in cost.items()},
        "cost_ms_per_frame_all": median([sum(row) for row in zip(*cost.values(), strict=True)]),
        "serial_frames_per_s": median(seen["serial rate"]),
        "pipeline_frames_per_s": median(seen["rate"]),
        "rate_ratio": ratio(seen["rate"], seen["serial rate"]),
        "serial_cpu_ms_per_frame": median(seen["serial cpu"]),
        "pipeline_cpu_ms_per_frame": median(seen["cpu"]),
        "cpu_ratio": ratio(seen["cpu"], seen["serial cpu"]),
        "mean_batch": round(swap.frames / swap.batches, 2),
        "embeddings": {**swap.facts["similarity"], "frames": frames},
    }


def ratio(values: Sequence[float], others: Sequence[float]) -> float:
    """The median of the ratios of each round."""
    return median([one / other for one, other in zip(values, others, strict=True)])


def measure_flicker(store: ModelStore, frames: int) -> dict[str, Any]:
    """How much the faces of an output tremble in themselves, over the input's."""
    table: dict[str, Any] = {}
    for film, photo in FLICKERING.items():
        before = lumas(store.path(film), frames)
        boxes = [face_box(store, picture) for picture in before]
        row = {"input": flicker(before, boxes)}
        for name, smooth in {"steadied": 0.4, "not steadied": 0.0}.items():
            settings = {"swap.sources": [str(store.path(photo))], "blend.smooth": smooth}
            spec = chosen("swap", {**settings, "encode.crf": 1})
            with tempfile.TemporaryDirectory() as folder, Session() as session:
                session.open(spec)
                job = job_in(folder, store.path(film), "out")
                result = session.run(msgspec.structs.replace(job, stop=frames))
                if result.error is not None:
                    raise result.error
                row[name] = flicker(lumas(Path(job.output), frames), boxes)
        ratios = {f"{name} / input": round(row[name] / row["input"], 3) for name in row}
        table[film] = {**{name: round(value, 3) for name, value in row.items()}, **ratios}
        del table[film]["input / input"]
    return table


def lumas(path: Path, frames: int) -> list[Any]:
    """The luma of a film's first frames."""
    with av.open(str(path)) as container:
        pictures = container.decode(video=0)
        return [frame.to_ndarray(format="gray") for frame in islice(pictures, frames)]


def face_box(store: ModelStore, luma: Any) -> tuple[int, int, int, int]:
    """The box of the largest face."""
    faces = fits.faces_of(store, np.repeat(luma[:, :, None], 3, axis=2))
    x1, y1, x2, y2 = max((face.box for face in faces), key=lambda box: box[2] - box[0])
    return max(0, round(x1)), max(0, round(y1)), round(x2), round(y2)


def flicker(lumas: Sequence[Any], boxes: Sequence[tuple[int, int, int, int]]) -> float:
    """The mean of what each pixel of a face is off the mean of the frames before and after it."""
    steps = []
    for number in range(1, len(lumas) - 1):
        x1, y1, x2, y2 = boxes[number]
        last, here, after = (
            luma[y1:y2, x1:x2].astype(float) for luma in lumas[number - 1 : number + 2]
        )
        steps.append(np.abs(here - (last + after) / 2).mean())
    return statistics.mean(steps)


def main() -> None:
    """Measure, show, and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--frames", type=int, default=24, help="of each take")
    parser.add_argument("--clips", type=Path, default=Path(tempfile.gettempdir()) / "mpflow-bench")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    asked = parser.parse_args()
    come_first(asked.nice)
    rounds, each = (1, 8) if asked.quick else (asked.rounds, asked.frames)
    store = ModelStore()
    clip = face_clip(store, asked.clips, height=720, takes=TAKES, frames=each)
    frames = each * len(TAKES)
    faces = sum(len(marks) for marks in clip.truth.frames)
    facts = machine_facts(PACKAGES)
    results: dict[str, Any] = {
        "bench": "bench/bench_swap.py",
        "settings": {"rounds": rounds, "frames": frames, "faces": faces},
        "network_giga_multiplications": round(GIGA_MULTIPLICATIONS, 2),
        "machine": facts,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, spec in variants(store, Path(folder)).items():
            results[name] = measure(spec, clip.path, frames, rounds)
            print(f"{name}: {json.dumps(results[name], indent=1)}", flush=True)
    results["flicker"] = measure_flicker(store, 24 if asked.quick else 60)
    print(json.dumps(results["flicker"], indent=1))
    facts["load_average_after"] = load()
    if asked.out is not None:
        write_results(asked.out, results)


if __name__ == "__main__":
    main()
