"""Peak memory of a redacting run against the length of its clip: it should not grow.

What is measured. The proportional set size of all processes of a run, summed, ten times a second:
a page that several of them share (the frame ring, libraries) counts once over all of them. The
command line redacts clips of 500 and of 5,000 frames of real faces, 640x360, with the ring and
the settings as they come. Reported are the peak, the peak of each fifth of the run (growth would
show as a rise from fifth to fifth), and the ratio of the two peaks.

    python bench/bench_memory.py --out bench/results/memory.json
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from clips import face_clip
from facts import come_first, load, machine_facts, write_results
from watched import Watched, watch

SIZE = (640, 360)
PACKAGES = ("av", "numpy", "opencv-python", "onnxruntime")


def measure(folder: Path, frames: int) -> dict[str, Any]:
    """Redact a clip of so many frames; its memory in MiB."""
    output = folder / "out.mp4"
    clip = face_clip(folder, *SIZE, frames)
    command = [
        sys.executable,
        "-P",
        "-m",
        "mpflow.cli",
        "run",
        "--json",
        "-y",
        "--preset",
        "redact",
    ]
    run = watch([*command, "-i", str(clip), "-o", str(output)], memory=True)
    output.unlink()
    print(f"{frames} frames: peak {_peak(run):.1f} MiB in {run.wall:.0f} s")
    return {
        "frames": frames,
        "seconds": round(run.wall, 1),
        "looks": len(run.memory),
        "peak_mib": round(_peak(run), 1),
        "peak_mib_of_each_fifth": _fifths(run),
    }


def _peak(run: Watched) -> float:
    return max(mib for _, mib in run.memory)


def _fifths(run: Watched) -> list[float]:
    """The peak within each fifth of the run's time."""
    looks: list[list[float]] = [[] for _ in range(5)]
    for moment, mib in run.memory:
        looks[min(4, int(5 * moment / run.wall))].append(mib)
    return [round(max(part), 1) for part in looks if part]


def main() -> None:
    """Measure, print, and keep everything as JSON if asked."""
    parser = argparse.ArgumentParser(description="Measure memory against the length of a clip.")
    parser.add_argument("--frames", type=int, nargs=2, default=(500, 5000))
    parser.add_argument("--clips", type=Path, default=Path(tempfile.gettempdir()) / "mpflow-bench")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    come_first(asked.nice)
    facts = machine_facts(PACKAGES)
    runs = [measure(asked.clips, frames) for frames in asked.frames]
    results = {
        "bench": "bench/bench_memory.py",
        "settings": {"size": "x".join(map(str, SIZE)), "preset": "redact"},
        "machine": {**facts, "load_average_after": load()},
        "ratio": round(runs[1]["peak_mib"] / runs[0]["peak_mib"], 3),
        "runs": runs,
    }
    print(json.dumps(results["runs"], indent=2))
    if asked.out is not None:
        write_results(asked.out, results)


if __name__ == "__main__":
    main()
