"""A run's timeline, as ``--trace`` writes it: when which stage was done with which frame."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


@dataclass(frozen=True)
class Timeline:
    """Moments in seconds of the monotonic clock, which all processes of the machine share."""

    done: dict[str, dict[int, float]]
    """Of each stage: when it gave on which frame."""

    @classmethod
    def read(cls, path: Path) -> Timeline:
        """Read a trace file."""
        events = json.loads(path.read_text())
        begun = next(e["args"]["begun_ns"] for e in events if e["name"] == "process_name") / 1e9
        done: dict[str, dict[int, float]] = {}
        for event in events:
            if event.get("cat") == "stage":
                stage, _, frame = event["name"].rpartition(" ")
                end = begun + (event["ts"] + event["dur"]) / 1e6
                done.setdefault(stage, {})[int(frame)] = end
        return cls(done)

    @property
    def last(self) -> str:
        """The last stage: the one that was done with the first frame after all others."""
        return max(self.done, key=lambda stage: self.done[stage][0])

    def moments(self, stage: str) -> list[float]:
        """When a stage gave on its frames, in order of time."""
        return sorted(self.done[stage].values())

    def after(self, stage: str, moment: float) -> float | None:
        """Seconds from a moment to the next frame that a stage gave on; None without one."""
        moments = self.moments(stage)
        place = bisect_right(moments, moment)
        return moments[place] - moment if place < len(moments) else None

    def longest_pause(self, stage: str, start: float, stop: float) -> float | None:
        """The longest time between two frames of a stage that is not over before ``start``."""
        moments = self.moments(stage)
        begin = max(0, bisect_right(moments, start) - 1)
        some = moments[begin : bisect_left(moments, stop) + 1]
        return max((b - a for a, b in pairwise(some)), default=None)

    def frames(self, stage: str, start: float, stop: float) -> list[int]:
        """The frames that a stage gave on between two moments."""
        return [frame for frame, moment in self.done[stage].items() if start < moment <= stop]

    def seconds_for(self, stage: str, frames: list[int]) -> float:
        """How long a stage took from the first to the last of some frames."""
        moments = [self.done[stage][frame] for frame in frames]
        return max(moments) - min(moments)
