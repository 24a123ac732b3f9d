"""How near a pipeline of fixed delays comes to its slowest stage, with set workers and with auto.

What is measured. Three stages sleep over each frame (4, 12 and 3 ms unless told otherwise) between
a source and a sink that do nothing; so no CPU is needed, and what the wall time has beyond the
slowest stage's is the pipeline's own. Each setting runs several jobs in one session, so that the
workers are warm; the last job counts. ``wall_s`` is the whole job, from the look at its input
to its closed output.

    ratio            wall time over the slowest stage's time a worker, as its counters have it
                     (busy time of a stage over its workers; the target is at most 1.1)
    nominal_ratio    the same against frames * delay / workers, which no sleep keeps exactly
    idle_ratio       of all workers: time without a frame over all time
    frames_idle      of all frames: time in which nobody worked on them over all their time
    settled_after    with auto: the jobs until a job begins and ends with the same workers

``fixed N``: the slow stage has N workers. ``auto``: every stage may have ``--seats``, and the
supervisor decides; ``auto_moves`` are its decisions, in seconds since the first job's start.

    python bench/bench_scaling.py --out bench/results/scaling.json
    python bench/bench_scaling.py --quick
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from facts import come_first, load, machine_facts, write_results

from mpflow.channel import Message
from mpflow.report import Report
from mpflow.session import Session
from mpflow.spec import JobSpec, PipelineSpec, StageSpec

NAMES = ("first", "slow", "third")
DELAYS_MS = (4.0, 12.0, 3.0)
FRAMES, QUICK_FRAMES = 1000, 200
MOST_JOBS = 12


@dataclass
class Ear:
    """Keeps what the supervisor says of its moves."""

    began: float = field(default_factory=time.monotonic)
    moves: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, message: Message) -> None:
        if message["kind"] != "log" or " of " not in message["record"]["text"]:
            return
        record = message["record"]
        at = round(time.monotonic() - self.began, 2)
        self.moves.append({"at": at, "stage": record["stage"], "what": record["text"]})


def pipeline(
    frames: int, delays: Sequence[float], workers: Mapping[str, int], seats: int
) -> PipelineSpec:
    """A source, the sleeping stages, and a sink; with ``seats`` all sleepers may grow so far."""
    stages = [StageSpec("blank", "napping:Blank", {"frames": frames})]
    for name, ms in zip(NAMES, delays, strict=True):
        count = seats or workers.get(name, 1)
        stages.append(StageSpec(name, "napping:Nap", {"ms": ms}, count, auto=seats > 0))
    stages.append(StageSpec("count", "napping:Count"))
    return PipelineSpec("scaling", tuple(stages))


def run_jobs(spec: PipelineSpec, jobs: int, ear: Ear) -> list[Report]:
    """So many jobs in one session; with stages that may grow, until nothing moves, at most."""
    reports: list[Report] = []
    grows = any(stage.auto for stage in spec.stages)
    with Session(ear) as session:
        session.open(spec)
        for number in range(MOST_JOBS if grows else jobs):
            moved = len(ear.moves)
            result = session.run(JobSpec(f"job-{number}", "blank"))
            if result.error is not None:
                raise result.error
            reports.append(result.report)
            if grows and number and len(ear.moves) == moved:
                break
    return reports


def figures(report: Report, delays: Sequence[float], frames: int) -> dict[str, Any]:
    """One job in numbers."""
    stages = {stage.name: stage for stage in report.stages if stage.name in NAMES}
    shares = {name: stage.busy / max(1, stage.workers) for name, stage in stages.items()}
    nominal = {
        name: frames * ms / 1000 / max(1, stages[name].workers)
        for name, ms in zip(NAMES, delays, strict=True)
    }
    busy = sum(stage.busy for stage in report.stages)
    waiting = sum(stage.waiting for stage in report.stages)
    return {
        "workers": {name: stage.workers for name, stage in stages.items()},
        "wall_s": round(report.seconds, 3),
        "frames_per_s": round(frames / report.seconds, 1),
        "slowest": max(shares, key=shares.__getitem__),
        "ratio": round(report.seconds / max(shares.values()), 3),
        "nominal_ratio": round(report.seconds / max(nominal.values()), 3),
        "idle_ratio": round(waiting / (busy + waiting), 3),
        "frames_idle": round(report.latency.idle_ratio, 3) if report.latency else None,
        "slots": report.slots,
        "complete": report.complete and report.frames_written == frames,
    }


def measure(frames: int, delays: Sequence[float], most: int, seats: int) -> dict[str, Any]:
    """Every setting in turn."""
    settings: dict[str, Any] = {}
    for workers in range(1, most + 1):
        spec = pipeline(frames, delays, {"slow": workers}, 0)
        reports = run_jobs(spec, 2, Ear())
        settings[f"fixed {workers}"] = figures(reports[-1], delays, frames)
        print(f"fixed {workers}: {json.dumps(settings[f'fixed {workers}'])}", flush=True)
    ear = Ear()
    reports = run_jobs(pipeline(frames, delays, {}, seats), 0, ear)
    settings["auto"] = {
        **figures(reports[-1], delays, frames),
        "settled_after": len(reports) - 1,
        "first_job_s": round(reports[0].seconds, 3),
        "auto_moves": ear.moves,
    }
    print(f"auto: {json.dumps(settings['auto'], indent=1)}", flush=True)
    return settings


def main() -> None:
    """Measure, show, and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--delays", type=float, nargs=3, default=DELAYS_MS, metavar="MS")
    parser.add_argument("--workers", type=int, default=3, help="of the slow stage, at most")
    parser.add_argument("--seats", type=int, default=4, help="of each stage, with auto")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    asked = parser.parse_args()
    come_first(asked.nice)
    frames = QUICK_FRAMES if asked.quick else asked.frames
    results = {
        "machine": machine_facts(("numpy",)),
        "frames": frames,
        "delays_ms": dict(zip(NAMES, asked.delays, strict=True)),
        "settings": measure(frames, asked.delays, asked.workers, asked.seats),
        "load_average_after": load(),
    }
    if asked.out:
        write_results(asked.out, results)


if __name__ == "__main__":
    main()
