"""How old frames grow in live runs, below, at and beyond the capacity; what metrics cost.

Ages. A camera by the clock, a stage that sleeps over each frame (20 ms, so 50 frames a second are
its capacity), a screen that takes no time; the camera gives half, all and twice the capacity.
``age`` is from the moment a frame is due to the moment the screen has it, of those that were
delivered; the limit is ``--max-latency``.

    delivered_share  of the camera's frames
    capacity_used    frames worked on and delivered, over what the sleeping stage could have done

Overhead. The same file pipeline (a source, a stage without delay, a sink; small frames, so that the
pipeline's own work is nearly all there is) with metrics served and read once a second, and a
client of the control socket that asks for everything as often as ``mpflow top`` does, against the
same without either; in turn, the median of the pairs' ratios.

    python bench/bench_live.py --out bench/results/live.json
    python bench/bench_live.py --quick
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any
from uuid import uuid4

from facts import come_first, load, machine_facts, write_results

from mpflow.control import Control, find
from mpflow.report import Report
from mpflow.requests import Stats
from mpflow.session import Session
from mpflow.spec import JobSpec, PipelineSpec, StageSpec

NAP_MS = 20.0
FACTORS = (0.5, 1.0, 2.0)
SECONDS, QUICK_SECONDS = 60.0, 8.0
PAIRS, QUICK_PAIRS = 5, 1
FRAMES, QUICK_FRAMES = 20_000, 3_000


def run(spec: PipelineSpec, *, live: bool) -> Report:
    """One job in a session of its own; raises the error that it ends with."""
    with Session() as session:
        session.open(spec)
        result = session.run(JobSpec("1", "nothing", "nowhere", live=live))
    if result.error is not None:
        raise result.error
    return result.report


def ages(factor: float, seconds: float, limit: float) -> dict[str, Any]:
    """A live run at a share of the capacity."""
    fps = factor * 1000 / NAP_MS
    frames = int(fps * seconds)
    stages = (
        StageSpec("tick", "ticking:Tick", {"fps": fps, "frames": frames}),
        StageSpec("nap", "napping:Nap", {"ms": NAP_MS}),
        StageSpec("look", "ticking:Look"),
    )
    report = run(PipelineSpec("ages", stages, live=True, max_latency=limit), live=True)
    assert report.latency is not None and report.ledger is not None
    age, ledger = report.latency.whole, report.ledger
    assert ledger.frames == report.frames_read and ledger.frames + report.missed == frames
    nap = next(stage for stage in report.stages if stage.name == "nap")
    return {
        "of_capacity": factor,
        "fps": fps,
        "frames": frames,
        "delivered_share": round(ledger.delivered / frames, 4),
        "dropped": ledger.dropped,
        "missed": report.missed,
        "capacity_used": round(ledger.delivered * NAP_MS / 1000 / (nap.busy + nap.waiting), 3),
        "age_ms": {
            name: round(getattr(age, name) * 1000, 1) for name in ("p50", "p95", "p99", "max")
        },
        "limit_ms": limit * 1000,
        "idle_ratio": report.latency.idle_ratio,
    }


def plain(frames: int) -> float:
    """Frames a second of a file pipeline that nobody looks at."""
    return run(_file_pipeline(frames), live=False).frames_per_second


def watched(frames: int) -> float:
    """The same, with metrics read and somebody who asks for everything once a second."""
    name = f"bench-{uuid4().hex[:8]}"
    over = threading.Event()

    def watch() -> None:
        while not over.wait(1.0):
            try:
                with Control(find(name).path) as control:
                    control.ask(Stats())
                urllib.request.urlopen("http://127.0.0.1:9187/metrics", timeout=2).read()
            except Exception:  # noqa: BLE001 - not there yet, or over already
                continue

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        return run(
            _file_pipeline(frames, metrics="127.0.0.1:9187", name=name), live=False
        ).frames_per_second
    finally:
        over.set()
        thread.join()


def _file_pipeline(frames: int, **top: Any) -> PipelineSpec:
    stages = (
        StageSpec("blank", "napping:Blank", {"frames": frames}),
        StageSpec("nap", "napping:Nap", {"ms": 0.0}),
        StageSpec("count", "napping:Count"),
    )
    return PipelineSpec("overhead", stages, **top)


def overhead(frames: int, pairs: int) -> dict[str, Any]:
    """Pairs of runs in turn; the ratio of their rates."""
    rates = []
    for number in range(pairs):
        first, second = (plain, watched) if number % 2 == 0 else (watched, plain)
        pair = {first.__name__: first(frames), second.__name__: second(frames)}
        rates.append(pair)
    ratios = [pair["watched"] / pair["plain"] for pair in rates]
    return {
        "ratio": round(statistics.median(ratios), 3),
        "pairs": [{key: round(value, 1) for key, value in pair.items()} for pair in rates],
    }


def main() -> None:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--max-latency", type=float, default=0.5)
    parser.add_argument("--nice", type=int, default=0)
    arguments = parser.parse_args()
    come_first(arguments.nice)
    quick = arguments.quick
    began = time.time()
    before = load()
    seconds = QUICK_SECONDS if quick else SECONDS
    results = {
        "machine": machine_facts(("mpflow-pipeline",)),
        "load_before": before,
        "ages": [ages(factor, seconds, arguments.max_latency) for factor in FACTORS],
        "metrics_overhead": overhead(
            QUICK_FRAMES if quick else FRAMES, QUICK_PAIRS if quick else PAIRS
        ),
        "load_after": load(),
        "seconds": 0.0,
    }
    results["seconds"] = round(time.time() - began, 1)
    print(json.dumps(results, indent=2))
    if arguments.out is not None:
        write_results(arguments.out, results)


if __name__ == "__main__":
    main()
