"""What dying costs: a killed worker, a killed run that is gone on with, and what both need.

What is measured. The command line redacts a clip of real faces (1280x720 unless told otherwise),
the settings as they come. In each round every contestant runs once, in turn; each ratio is taken
within a round, and the medians over the rounds count.

    plain        undisturbed, nothing asked for
    trace        undisturbed, with --trace; the reference for those that are struck
    tokens       undisturbed, with --tokens
    one chunk    undisturbed, one encoder for the whole clip (encode.chunk_seconds=60)
    each second  with --trace; the detect worker gets SIGKILL every second
    once         with --trace; the detect worker gets SIGKILL when 2/5 of the clip is done
    resumed      SIGKILL of all processes at half, then the same command with --resume

Of each kill: ``next_delivered_s`` until the last stage was done with another frame, frames that
were past the detector included; ``next_detected_s`` until a new worker gave on its first frame;
``longest_pause_s`` of the last stage in the two seconds after. ``rate_within_5s`` of ``once`` is
the time that the undisturbed run took for the frames which the struck one delivered in the five
seconds after the kill, over those five seconds; ``rate_after_1s`` leaves the first second out.
``made_twice`` of ``resumed`` is the share of frames that were finished before the kill and had to
be made again. The ledger and the counters have no switch: see bookkeeping.py.

    python bench/bench_recovery.py --out bench/results/recovery.json
    python bench/bench_recovery.py --quick        one round of a small clip, to see that it works

``--nice -15`` (as root) keeps other work on the machine from disturbing. On a machine that makes
less than some 15 frames a second of the clip, ``each second`` is a storm (five deaths within one
chunk of two seconds) and ends the run; take a smaller --size there.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blows import Blows
from bookkeeping import bookkeeping
from clips import face_clip
from facts import come_first, load, machine_facts, write_results
from recovery_tables import STRUCK, Run, after_one_kill, kills, ratios, summary
from timeline import Timeline
from watched import Watched, watch

PACKAGES = ("av", "numpy", "opencv-python", "onnxruntime")
KILLED = -9
QUICK = (1, 300, "640x360")


@dataclass(frozen=True)
class Bench:
    """The clip, and where outputs go."""

    clip: Path
    frames: int
    folder: Path

    @property
    def output(self) -> Path:
        """The file that every run makes anew."""
        return self.folder / "out.mp4"

    @property
    def timeline(self) -> Path:
        """Where traces go."""
        return self.folder / "trace.json"

    def plain(self) -> Run:
        """Nothing asked for."""
        return self._run()

    def trace(self) -> Run:
        """With a timeline."""
        return self._traced(Blows(), None)

    def tokens(self) -> Run:
        """With a line for each frame."""
        return self._run("--tokens", str(self.folder / "tokens.jsonl"))

    def one_chunk(self) -> Run:
        """With one encoder for the whole."""
        return self._run("--set", "encode.chunk_seconds=60")

    def each_second(self) -> Run:
        """With a worker killed every second."""
        blows = Blows()
        return self._traced(blows, blows.each(1.0, STRUCK))

    def once(self) -> Run:
        """With a worker killed once."""
        blows = Blows()
        return self._traced(blows, blows.once(2 * self.frames // 5, STRUCK))

    def resumed(self) -> Run:
        """Killed at half, and gone on with."""
        blows = Blows()
        killed = watch(
            self._command("-y"), beside=blows.everything(self.frames // 2), ends_with=KILLED
        )
        run = self._whole(watch(self._command("--resume")))
        again = max(0, killed.last_frame - run.watched.report["resumed_at"])
        run.wall += killed.wall
        run.made_twice = again / self.frames
        return run

    def _traced(self, blows: Blows, beside: Any) -> Run:
        run = self._run("--trace", str(self.timeline), beside=beside)
        run.trace, run.blows = Timeline.read(self.timeline), blows.moments
        return run

    def _run(self, *words: str, beside: Any = None) -> Run:
        return self._whole(watch(self._command("-y", *words), beside=beside))

    def _command(self, *words: str) -> list[str]:
        head = [sys.executable, "-P", "-m", "mpflow.cli", "run", "--json", "--preset", "redact"]
        return [*head, *words, "-i", str(self.clip), "-o", str(self.output)]

    def _whole(self, seen: Watched) -> Run:
        """The run, if its output has every frame once."""
        ledger = seen.report["ledger"]
        if (ledger["frames"], ledger["delivered"]) != (self.frames, self.frames):
            raise RuntimeError(f"of {self.frames} frames: {ledger}")
        return Run(seen, seen.wall)


def measure(bench: Bench, rounds: int) -> dict[str, list[Run]]:
    """Let everybody run in turn, ``rounds`` times."""
    everybody: dict[str, Callable[[], Run]] = {
        "plain": bench.plain,
        "trace": bench.trace,
        "tokens": bench.tokens,
        "one chunk": bench.one_chunk,
        "each second": bench.each_second,
        "once": bench.once,
        "resumed": bench.resumed,
    }
    seen: dict[str, list[Run]] = {name: [] for name in everybody}
    for number in range(rounds):
        for name, run in everybody.items():
            bench.output.unlink(missing_ok=True)
            seen[name].append(run())
            told = f"{bench.frames / seen[name][-1].wall:6.2f} frames/s, load {load()[0]}"
            print(f"round {number + 1}: {name:12} {told}", flush=True)
    return seen


def main() -> None:
    """Measure, print, and keep everything as JSON if asked."""
    parser = argparse.ArgumentParser(description="Measure what dying and going on costs.")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--frames", type=int, default=900)
    parser.add_argument("--size", default="1280x720", help="width and height of the clip")
    parser.add_argument("--quick", action="store_true", help="one round of a small, short clip")
    parser.add_argument("--clips", type=Path, default=Path(tempfile.gettempdir()) / "mpflow-bench")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    come_first(asked.nice)
    rounds, frames, size = asked.rounds, asked.frames, asked.size
    if asked.quick:
        rounds, frames, size = QUICK
    width, height = map(int, size.split("x"))
    clip = face_clip(asked.clips, width, height, frames)
    facts = machine_facts(PACKAGES)
    with tempfile.TemporaryDirectory(dir=asked.clips) as folder:
        warm_up = Bench(face_clip(asked.clips, width, height, 10), 10, Path(folder))
        warm_up.plain()
        seen = measure(Bench(clip, frames, Path(folder)), rounds)
    books = bookkeeping()
    runs = {name: summary(some, frames) for name, some in seen.items()}
    results = {
        "bench": "bench/bench_recovery.py",
        "settings": {"rounds": rounds, "frames": frames, "size": size, "preset": "redact"},
        "machine": {**facts, "load_average_after": load()},
        "ratios": ratios(seen),
        "kills": kills(seen),
        "after_one_kill": after_one_kill(seen),
        "bookkeeping": {
            **books,
            "share_of_cpu": round(books["all_us"] / 1000 / runs["plain"]["cpu_ms_per_frame"], 5),
            "target": 0.02,
        },
        "runs": runs,
    }
    shown = ("ratios", "kills", "after_one_kill", "bookkeeping")
    print(json.dumps({name: results[name] for name in shown}, indent=2))
    print("frames made twice by resumed:", runs["resumed"]["made_twice"])
    if asked.out is not None:
        write_results(asked.out, results)


if __name__ == "__main__":
    main()
