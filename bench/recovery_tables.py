"""Tables of a bench of recovery: ratios within a round, and what followed each kill."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from timeline import Timeline
from watched import Watched

STRUCK = "detect"
TARGETS = {
    "each second / trace": 0.7,
    "once, within 5 s": 0.9,
    "trace / plain": 0.98,
    "tokens / plain": 0.98,
}


@dataclass
class Run:
    """One contestant's run; of ``resumed``, both halves."""

    watched: Watched
    wall: float
    trace: Timeline | None = None
    blows: list[float] = field(default_factory=list)
    made_twice: float = 0.0

    @property
    def cpu(self) -> float:
        """Seconds of CPU time of all its processes."""
        return sum(self.watched.cpu.values())


def ratios(seen: dict[str, list[Run]]) -> dict[str, Any]:
    """Speeds against the reference of the same round; above 1 is faster."""
    pairs = [(name, "plain") for name in ("trace", "tokens", "one chunk", "resumed")]
    table = {}
    for ours, theirs in [*pairs, ("each second", "trace"), ("once", "trace")]:
        both = list(zip(seen[ours], seen[theirs], strict=True))
        name = f"{ours} / {theirs}"
        table[name] = {
            **_spread("speed", [b.wall / a.wall for a, b in both]),
            "target": TARGETS.get(name),
        }
        if ours != "resumed":  # what the killed half used was lost with it
            table[name] |= {"cpu": _median(b.cpu / a.cpu for a, b in both)}
    return table


def kills(seen: dict[str, list[Run]]) -> dict[str, Any]:
    """What followed each kill of a worker."""
    found: dict[str, list[float]] = {}
    for run in [*seen["each second"], *seen["once"]]:
        assert run.trace is not None
        last = run.trace.last
        for moment in run.blows:
            told = {
                "next_delivered_s": run.trace.after(last, moment),
                "next_detected_s": run.trace.after(STRUCK, moment),
                "longest_pause_s": run.trace.longest_pause(last, moment, moment + 2),
            }
            for name, value in told.items():
                found.setdefault(name, []).extend([] if value is None else [value])
    undisturbed = [pause for run in seen["trace"] if (pause := _usual_pause(run.trace)) is not None]
    return {
        "kills": sum(len(run.blows) for run in [*seen["each second"], *seen["once"]]),
        "restarts": sum(
            run.watched.report["restarts"] for run in [*seen["each second"], *seen["once"]]
        ),
        **{name: _quantiles(values) for name, values in found.items()},
        "longest_pause_undisturbed_s": _quantiles(undisturbed),
    }


def _usual_pause(trace: Timeline | None) -> float | None:
    """The longest pause of an undisturbed run, its first second left out."""
    assert trace is not None
    moments = trace.moments(trace.last)
    return trace.longest_pause(trace.last, moments[0] + 1, moments[-1])


def after_one_kill(seen: dict[str, list[Run]]) -> dict[str, Any]:
    """How fast the frames went after a single kill, against the undisturbed run."""
    within: list[float] = []
    later: list[float] = []
    for struck, free in zip(seen["once"], seen["trace"], strict=True):
        assert struck.trace is not None and free.trace is not None
        last, moment = struck.trace.last, struck.blows[0]
        within += _rate(struck.trace, free.trace, last, (moment, moment + 5))
        later += _rate(struck.trace, free.trace, last, (moment + 1, moment + 5))
    return {
        **_spread("rate_within_5s", within),
        **_spread("rate_after_1s", later),
        "target": TARGETS["once, within 5 s"],
    }


def _rate(struck: Timeline, free: Timeline, stage: str, span: tuple[float, float]) -> list[float]:
    """The undisturbed run's time over the struck one's, for the same frames."""
    frames = struck.frames(stage, *span)
    if len(frames) < 2:
        return [0.0]
    stop = min(span[1], max(struck.moments(stage)))
    return [free.seconds_for(stage, [min(frames) - 1, *frames]) / (stop - span[0])]


def summary(runs: Sequence[Run], frames: int) -> dict[str, Any]:
    """The medians over a contestant's rounds."""
    walls = [run.wall for run in runs]
    return {
        "seconds": _median(walls),
        "frames_per_s_all": [round(frames / wall, 2) for wall in walls],
        "cpu_ms_per_frame": _median(run.cpu * 1000 / frames for run in runs),
        "made_twice": _median(run.made_twice for run in runs),
        "size": runs[-1].watched.report["size"],
    }


def _spread(name: str, values: Sequence[float]) -> dict[str, Any]:
    return {name: _median(values), f"{name}_all": [round(value, 3) for value in values]}


def _median(values: Iterable[float]) -> float:
    return round(statistics.median(values), 4)


def _quantiles(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    ordered = sorted(values)
    return {
        "median": _median(ordered),
        "p90": round(ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))], 4),
        "max": round(ordered[-1], 4),
    }
